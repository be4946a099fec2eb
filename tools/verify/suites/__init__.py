"""Test suites of other projects, run over this one. The repository has none of their files."""
