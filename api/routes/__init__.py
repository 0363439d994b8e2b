"""The routes of the REST interface: one module per kind of resource, each with its `router`.

A new route is a function in the module of its resource; a new module is a line of ROUTERS.
Modules without a router hold what several of them share: bodies, entity tags, series, warnings.
"""

from api.routes import (
    curves,
    evaluations,
    events,
    films,
    games,
    health,
    league,
    lifecycle,
    match_statistics,
    members,
    membership,
    operations,
    plays,
    populations,
    replays,
    session,
    system,
    templates,
)

ROUTERS = tuple(
    part.router
    for part in (
        health,
        session,
        populations,
        lifecycle,
        operations,
        members,
        curves,
        membership,
        games,
        replays,
        films,
        plays,
        league,
        match_statistics,
        evaluations,
        events,
        templates,
        system,
    )
)
