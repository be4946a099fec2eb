"""Hostile tenants of every kind beside good ones, against a server process of its own.

    python -m tools.verify.attack --seconds 60
    python -m tools.verify.attack --seconds 1800 --json record.json --markdown record.md

Good tenants are measured alone and beside the hostile ones, in turns, since a machine is not the
same for minutes; each of their answers is compared to the library's. A third part of each turn lets
the good ones ask without a pause, a closed loop, to see whether equal tenants get equal shares.
`place` starts the server, `good`, `hostile` and `connections` are the tenants, `report` the record.
"""
