"""The rows of games and seats: every value stands in the column of its name."""

from dataclasses import fields

from arena.league.rows import game_row, seat_row
from arena.league.schema import game_seats, games
from pbt.records import GameRecord, PlayerRef, SeatRecord


def fields_of(record: GameRecord | SeatRecord) -> set[str]:
    return {field.name for field in fields(record)}


def test_values_stand_in_the_columns_of_their_names() -> None:
    """Two columns that are exchanged would survive writing and reading."""
    seat = SeatRecord(PlayerRef("member", "m0"), 11, 12, 13, 14, 15.5, 16.5)
    game = GameRecord(
        1, 2, 3, "training", 4, (seat,), 5, 6, "mate", "ab", b"moves", 7, greedy=True, pair=8
    )
    stored = dict(zip(games.c.keys(), game_row(21, 22, 23, game, 24), strict=True))
    assert {name: stored[name] for name in ("id", "incarnation_id", "match_id")} == {
        "id": 21,
        "incarnation_id": 22,
        "match_id": 23,
    }
    assert stored["committed_at"] == 24 and stored["trajectory_hash"] == b"\xab"
    same = stored.keys() & fields_of(game) - {"kind", "seats", "trajectory_hash"}
    assert len(same) == 11 and all(stored[name] == getattr(game, name) for name in same)
    stored = dict(zip(game_seats.c.keys(), seat_row(31, 32, 33, seat), strict=True))
    assert (stored["game_id"], stored["seat"], stored["player_id"]) == (31, 32, 33)
    same = stored.keys() & fields_of(seat)
    assert len(same) == 6 and all(stored[name] == getattr(seat, name) for name in same)
