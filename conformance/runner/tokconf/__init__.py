"""The runner of the tokenizer conformance suite.

suite      what there is to test: cases, tokenizers, adapters
playing    an adapter as a program that answers requests (process, protocol), one case as
           requests and a verdict (play), and what is right (judge, invariants)
run        all cases of all adapters, by a pool of processes
results    the stream that every report is made from
views      reports
"""
