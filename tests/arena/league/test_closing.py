import sqlite3
import threading
from pathlib import Path
from typing import cast

import pytest

from arena.league.database import open_league


def test_a_connection_that_is_read_from_while_the_league_is_closed_is_closed_after_it(
    tmp_path: Path,
) -> None:
    league = open_league(tmp_path / "league.db")
    with league.read() as connection:
        read_from = cast(sqlite3.Connection, connection.connection.driver_connection)
        closer = threading.Thread(target=league.close)
        closer.start()
        closer.join()
        assert read_from.execute("SELECT 1").fetchone() == (1,)
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        read_from.execute("SELECT 1")
