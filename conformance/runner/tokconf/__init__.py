"""The runner of the tokenizer conformance suite.

suite      what there is to test: cases, tokenizers, adapters
process    an adapter as a program that answers requests
play       one case as requests and a verdict
judge      what is right
run        all cases of all adapters, by a pool of processes
results    the stream that every report is made from
views      reports
"""
