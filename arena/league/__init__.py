"""The league database: schema, migrations, the one writer, and read models.

Callers get frozen dataclasses and records; no database row leaves this package. Scripts call the
package itself, `arena.league(data)`, for a view of a league (DECISIONS 68).
"""

import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from arena.league.view import LeagueView


class _CalledPackage(ModuleType):
    """The package as a function too: its name is that of the function for scripts."""

    def __call__(self, data: Path | str | None = None) -> "LeagueView":
        """As `arena.league.view.league`, which is imported now."""
        from arena.league.view import league

        return league(data)


sys.modules[__name__].__class__ = _CalledPackage
