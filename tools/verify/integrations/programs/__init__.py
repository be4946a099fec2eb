"""Small programs as users of each library write them, before any line of them is exchanged.

`load` gets the folder of a model, `run` what `load` returned and texts. `../table.py` has the line
that is exchanged.
"""
