"""Sets renderers of chat templates against the reference: jinja2, as transformers sets it up.

`reference` is the reference behind the contract of renderers, `outcomes` compares two answers,
`corpus`, `matrix` and `fuzzing` make cases, `attacks` the ones that are meant to do harm,
`differences` holds what is known and why.
"""
