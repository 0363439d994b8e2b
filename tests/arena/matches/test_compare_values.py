"""Which players of a comparison meet, and what a match of them is worth in each objective."""

import numpy as np
import pytest

from arena.matches.compare_finals import _meet
from arena.matches.compare_values import meeting_value
from arena.matches.play import play_match
from arena.players.resolve import ResolvedPlayer
from pbt.records import PlayerRef
from tests.pbt.envs.matrix_game import matrix_spec, together


def scripted(name: str, game: str, **options: object) -> ResolvedPlayer:
    return ResolvedPlayer(PlayerRef("scripted", name), name, game, options)


def test_a_match_is_worth_what_its_objective_counts() -> None:
    """Margins of a pair of games, returns in games of one seat and in games with copies."""
    for game, objective in (("leduc_holdem", "margin"), ("cartpole", "return")):
        pair = (scripted("random", game), scripted("random", game))
        result = play_match(*pair, games=20, seed=3)
        value = meeting_value(result, objective)  # type: ignore[arg-type]
        if result.margin is not None:
            margin = result.margin
            assert margin.deviation is not None
            expected = (margin.mean, margin.deviation**2 / margin.units)
        else:
            leads = [own - other for own, other in result.returns]
            expected = (float(np.mean(leads)), float(np.var(leads, ddof=1)) / len(leads))
        assert (value[objective], value["variance"]) == pytest.approx(expected)
        assert value["variance"] > 0
    won = play_match(
        scripted("oneply", "connect_four"), scripted("random", "connect_four"), games=4
    )
    assert meeting_value(won, "win") == {"score": won.duel.score}


def test_partners_are_compared_with_copies_of_themselves() -> None:
    """Each throws a coin with itself; the return is what both seats get alike."""
    registered = matrix_spec(together, objective="return")
    pair = [scripted(name, registered.name) for name in ("random", "random")]
    result = play_match(*pair, games=40, env=registered)
    value = meeting_value(result, "return")
    found = result.partners
    assert found is not None
    ((_, _, lead),) = found.leads
    assert value["return"] == pytest.approx(lead.value)


def player(role: str | None) -> ResolvedPlayer:
    return ResolvedPlayer(PlayerRef("snapshot", "a" * 64), "x", "game", {}, role=role)


def test_only_those_meet_who_can_sit_at_one_table() -> None:
    assert _meet(["player", "player"], player("player"), player("player"))
    assert _meet(["cat", "mouse"], player("cat"), player("mouse")) and _meet(
        ["cat", "mouse"], player("mouse"), player("cat")
    )
    assert not _meet(["cat", "mouse"], player("cat"), player("cat"))
    assert _meet(["alone"], player("alone"), player("alone"))
