"""Attacks, fuzzers, soaks and kill tests."""
