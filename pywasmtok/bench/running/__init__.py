"""How measurements run: processes, turns, threads."""
