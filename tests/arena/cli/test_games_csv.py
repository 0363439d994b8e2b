"""Games as CSV."""

import csv
import io
from dataclasses import replace

from arena.cli.games import write_games_csv
from arena.league.game_rows import StoredGame
from tests.arena.league.samples import game, member, snapshot_player


def test_a_first_version_that_is_not_known_is_called_unknown() -> None:
    record = game(3, (member("m0"), member("m1"), snapshot_player("a")), (0, 1, 2))
    first, second, third = record.seats
    seats = (replace(first, version_start=None, version_end=7), second, third)
    out = io.StringIO()
    write_games_csv([StoredGame(replace(record, seats=seats), 1, None, False, 5)], out)
    (row,) = csv.DictReader(io.StringIO(out.getvalue()))
    assert row["versions"] == "unknown-7;3-4;"
