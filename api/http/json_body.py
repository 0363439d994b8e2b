"""How the JSON of a request is read: a number that is not 0 is never taken for 0."""

import json
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute

from pbt.config.float32 import nonzero_float


class _ExactRequest(Request):
    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            self._json = json.loads(await self.body(), parse_float=nonzero_float)
        return self._json


class ExactRoute(APIRoute):
    """A route whose bodies hold values of configs.

    Python reads 1e-400 as 0. In a config that would pass for a wanted 0, so it is read as the least
    number above 0, which the checks of a config refuse.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def exactly(request: Request) -> Response:
            return await handle(_ExactRequest(request.scope, request.receive))

        return exactly
