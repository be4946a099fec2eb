"""The parsers of the command line. Importing them loads no server, no bench and no backend."""
