"""The list of the service's routers.

A new route is a function in the module of its resource; a new module is a line of ROUTERS.
"""

from api.routes import (
    assessment,
    curves,
    evaluations,
    events,
    films,
    games,
    health,
    imports,
    jobs,
    league,
    lifecycle,
    match_statistics,
    matches,
    members,
    membership,
    operations,
    plays,
    populations,
    replays,
    rounds,
    session,
    snapshots,
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
        assessment,
        curves,
        rounds,
        membership,
        webhooks,
        games,
        replays,
        films,
        plays,
        league,
        matches,
        match_statistics,
        snapshots,
        imports,
        evaluations,
        jobs,
        events,
        templates,
        system,
    )
)
