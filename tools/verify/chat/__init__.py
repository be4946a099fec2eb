"""Sets renderers of chat templates against the reference: jinja2, as transformers sets it up.

`reference` is the reference behind the contract of renderers, `outcomes` compares two answers,
`corpus`, `matrix` and `fuzz` make cases, `hostile` the ones that want to hurt, `differences` holds
what is known and why.
"""
