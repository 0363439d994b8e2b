"""The list of the service's routers.

A new route is a function in the module of its resource; a new module is a line of ROUTERS.
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
    webhooks,
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
        webhooks,
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
