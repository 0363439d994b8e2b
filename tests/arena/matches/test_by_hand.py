"""Games by hand, without the processes around them: what the person is shown, what they may say,
what is stored.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from arena.league.database import League, open_league
from arena.league.game_names import game_of_key
from arena.league.matches import MatchError
from arena.league.ordered_pages import ListOrder, MatchFilter, match_page
from arena.league.ratings import game_table
from arena.matches.by_hand import Dropped, HandGame, Request, Silence, Standing, refusal
from arena.matches.game_boards import GameBoard
from arena.matches.replay import replay
from pbt.envs.registry import spec
from pbt.errors import PlayerError

NEWEST = ListOrder("created_at", descending=True)

Say = Callable[[Standing], Mapping[str, Any]]


@pytest.fixture
def league(tmp_path: Path) -> Iterator[League]:
    with open_league(tmp_path / "league.db") as opened:
        yield opened


def sit(league: League, answer: Say, **changed: Any) -> list[Standing]:
    """Everything that was said. answer: to the last of it, what the person says."""
    said: list[Standing] = []
    asked = Request(
        **{
            "id": "1",
            "opponent": "oneply",
            "env": "connect_four",
            "name": "Ada",
            "seat": 0,
            "seed": 1,
            **changed,
        }
    )
    HandGame(asked, league.path.parent, league, said.append, lambda: answer(said[-1])).play()
    return said


def lowest(standing: Standing) -> Mapping[str, Any]:
    return {"action": standing["legal"][0]["action"], "at": len(standing["moves"])}


def silent(_: Standing) -> Mapping[str, Any]:
    raise Silence("said nothing for 5 s")


@pytest.mark.parametrize(
    ("seat", "env", "opponent"), [(0, "connect_four", "oneply"), (1, "tictactoe", "random")]
)
def test_a_game_is_shown_move_by_move_and_stored_as_it_was_played(
    league: League, seat: int, env: str, opponent: str
) -> None:
    said = sit(league, lowest, opponent=opponent, seat=seat, env=env)
    assert [one["state"] for one in said] == ["turn"] * (len(said) - 1) + ["over"]
    for earlier, later in pairwise(said):
        played = len(earlier["moves"])
        assert later["moves"][:played] == earlier["moves"], "what was shown stays"
        assert (
            later["moves"][played]["action"] == earlier["legal"][0]["action"]
            and later["moves"][played]["seat"] == seat
        )
    over = said[-1]
    named, game = game_of_key(league, int(over["result"]["game"]))
    found = replay(named)
    assert found.problems == () and [move.board for move in found.moves] == [
        move["board"] for move in over["moves"]
    ]
    assert (found.grid, found.start) == (over["grid"], over["start"])
    assert [record.player.kind for record in game.record.seats][seat] == "guest"
    assert [record.place for record in game.record.seats] == over["result"]["places"]
    (match,) = match_page(league, MatchFilter(finished=True), NEWEST, None, 9)[0]
    assert (str(match.id), match.games, match.settings["person"]) == (
        over["result"]["match"],
        1,
        "1",
    )


def test_every_game_counts_also_from_one_seed(league: League) -> None:
    for number in range(3):
        sit(league, lowest, id=str(number))
    assert {
        row.player.name: row.total.games for row in game_table(league, "connect_four", {}).rows
    } == {"Ada": 3, "oneply": 3}


def test_what_is_no_move_is_refused_until_one_can_be_played(league: League) -> None:
    wrong = iter(
        [{"action": 7, "at": 0}, {"action": 0, "at": 9}, {"action": True, "at": 0}, {"at": 0}, {}]
    )

    def answer(told: Standing) -> Mapping[str, Any]:
        return (
            next(wrong, {"resign": True})
            if told["type"] == "refused" or not told["moves"]
            else {"resign": True}
        )

    with pytest.raises(Dropped, match="Ada resigned before their first move"):
        sit(league, answer)
    assert next(wrong, None) is None


def test_refusals_say_what_could_be_played() -> None:
    assert refusal({"action": 2, "at": 4}, [1, 2], 4) is None
    late, illegal = (
        refusal({"action": 2, "at": 3}, [2], 4),
        refusal({"action": 3, "at": 4}, [1, 2], 4),
    )
    assert late is not None and late["kind"] == "conflict" and "4 have been made" in late["detail"]
    assert (
        illegal is not None
        and illegal["kind"] == "invalid"
        and "expected one of 1, 2" in illegal["detail"]
    )


@pytest.mark.parametrize(
    ("leave", "why"), [(lambda _: {"resign": True}, "resigned"), (silent, "said nothing for 5 s")]
)
def test_who_leaves_has_lost_once_they_have_moved(league: League, leave: Say, why: str) -> None:
    said = sit(league, lambda told: leave(told) if len(told["moves"]) > 1 else lowest(told))
    over = said[-1]
    assert (over["result"]["places"], over["result"]["reason"], len(over["moves"])) == (
        [1, 0],
        f"forfeit: Ada {why}",
        2,
    )
    named, _ = game_of_key(league, int(over["result"]["game"]))
    assert replay(named).problems == ()
    with pytest.raises(Dropped, match=f"Ada {why} before their first move; nothing is stored"):
        sit(league, leave)
    assert len(match_page(league, MatchFilter(), NEWEST, None, 9)[0]) == 1


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"env": "leduc_holdem", "opponent": "random"}, "leduc_holdem has no board to play at"),
        ({"env": "rock_paper_scissors", "opponent": "random"}, "has no board to play at"),
        ({"env": "cartpole", "opponent": "random"}, "cartpole has 1 seats"),
        ({"name": "oneply"}, "choose another"),
        ({"opponent": "exec:./bot.py"}, "is a program; expected a player of the league"),
        ({"opponent": "onepyl"}, "there is no player 'onepyl'"),
    ],
)
def test_who_cannot_meet_at_a_board_is_told_why(
    league: League, changed: dict[str, Any], why: str
) -> None:
    with pytest.raises(PlayerError, match=why):
        sit(league, lowest, **changed)


def test_games_in_which_nothing_is_hidden_are_played_by_their_own_words(league: League) -> None:
    over = sit(league, lowest, opponent="random", env="openspiel:tic_tac_toe")[-1]
    assert over["grid"] is None and over["start"] == "...\n...\n..."
    assert over["moves"][0]["name"] == "x(0,0)" and over["moves"][0]["board"] == "x..\n...\n..."
    named, _ = game_of_key(league, int(over["result"]["game"]))
    assert [(move.name, move.board) for move in replay(named).moves] == [
        (move["name"], move["board"]) for move in over["moves"]
    ]
    hidden = spec("openspiel:leduc_poker")
    game = hidden.make()
    assert GameBoard(hidden, game).position(game.reset(1)) is None


def test_a_match_played_by_hand_is_not_gone_on_with(league: League) -> None:
    from arena.cli.match_resume import _players_of

    sit(league, lowest)
    (match,) = match_page(league, MatchFilter(), NEWEST, None, 1)[0]
    with pytest.raises(
        MatchError,
        match=(
            f"match {match.id} was played by hand, by Ada; `arena replay "
            f"match:{match.id}:0` shows it"
        ),
    ):
        _players_of(match, ["random", "oneply"], 1.0, league.path.parent)
