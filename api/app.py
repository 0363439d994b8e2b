"""The ASGI application: the middleware, then the routes listed in `api/routes/routers.py`."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import Depends, FastAPI, Request
from fastapi.dependencies.models import Dependant

from api.context import Context
from api.http import problems
from api.http.cache import RevisionCache
from api.http.dashboard import add_dashboard
from api.http.guard import Guard
from api.http.observability import Observed
from api.http.problems import Problem
from api.http.root_path import BelowRoot
from api.http.settings import Settings
from api.http.tokens import Tokens
from api.openapi import describe
from api.reconcile.reconciler import Supervisor
from api.routes.routers import ROUTERS
from arena.data.paths import league_path
from arena.league.database import open_league
from arena.league.paging import league_revision
from pbt import __version__


def create_app(settings: Settings) -> FastAPI:
    """Make the service as an ASGI application.

    It supervises trainings from its start-up to its shutdown. There is one per data directory:
    `api.serving` holds the lock. Raises: PbtError when the league or a token file cannot be used.
    """
    context = _make_context(settings)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        context.start()
        try:
            yield
        finally:
            await asyncio.to_thread(context.close)
            context.league.close()

    app = FastAPI(
        title="pbt-arena",
        version=__version__,
        description=(
            "Start, stop and watch populations. Errors are RFC 9457 problems; a request with "
            "an unknown field or parameter is refused."
        ),
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        dependencies=[Depends(refuse_unknown_parameters)],
        redirect_slashes=False,
    )
    app.state.context = context
    _furnish(app, context)
    return app


def _make_context(settings: Settings) -> Context:
    """Raises: PbtError when the league or a token file cannot be used; nothing stays open then."""
    observed = Observed()
    tokens = Tokens(settings.folder, read_only=settings.read_only)
    league = open_league(league_path(settings.data), read_only=settings.read_only)
    try:
        cache = RevisionCache(lambda: league_revision(league))
        supervisor = Supervisor(settings, league, observed)
        return Context(settings, league, tokens, observed, supervisor, cache)
    except BaseException:  # such as a damaged row, which the supervisor reads
        league.close()
        raise


def _furnish(app: FastAPI, context: Context) -> None:
    """Give the application its routes, its middleware and its document."""
    for router in ROUTERS:
        app.include_router(router)
    add_dashboard(app)
    problems.install(app)
    settings = context.settings
    app.add_middleware(Guard, settings=settings, tokens=context.tokens, observed=context.observed)
    if settings.root_path:
        app.add_middleware(BelowRoot, root=settings.root_path)
    describe(app)


async def refuse_unknown_parameters(request: Request) -> None:
    """Refuse a query parameter that the route does not have, or that is given twice."""
    if not request.scope["query_string"]:
        return
    allowed = query_names(request.scope["route"].dependant)
    unknown = sorted(request.query_params.keys() - allowed)
    if unknown:
        raise Problem(
            "invalid",
            f"unknown query parameters; there are: {', '.join(sorted(allowed)) or 'none'}",
            [(name, "unknown parameter") for name in unknown],
        )
    given = Counter(name for name, _ in request.query_params.multi_items())
    repeated = sorted(name for name, count in given.items() if count > 1)
    if repeated:
        raise Problem(
            "invalid",
            "a query parameter may be given only once",
            [(name, "given more than once") for name in repeated],
        )


def query_names(dependant: Dependant) -> set[str]:
    """The query parameters of a route, including those of its dependencies."""
    return {field.alias for field in dependant.query_params}.union(
        *(query_names(needed) for needed in dependant.dependencies)
    )
