"""The routes of the REST interface: one module per kind of resource, each with its `router`.

`routers.py` lists them. Modules without a router hold what several of them share: bodies, entity
tags, series, warnings.
"""
