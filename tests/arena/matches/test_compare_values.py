"""Which players of a comparison meet, and what a match of them is worth in each objective."""

from pathlib import Path

import numpy as np
import pytest

from arena.matches.compare import SIDES, Comparison, Contestant, _check_seats
from arena.matches.compare_finals import _meet
from arena.matches.compare_values import meeting_value
from arena.matches.play import play_match
from arena.players.resolve import ResolvedPlayer
from pbt.config.schema import RunConfig
from pbt.errors import ConfigError
from pbt.objective import ObjectiveKind
from pbt.records import PlayerRef
from tests.arena.matches import bidding
from tests.arena.matches.agreeing import HUNTING
from tests.arena.matches.agreeing import player as named
from tests.arena.matches.bidding import BOLD, MODEST
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


@pytest.mark.parametrize("objective", ["win", "margin"])
def test_at_a_larger_table_each_plays_among_copies_of_the_other(objective: ObjectiveKind) -> None:
    """Bold names 2, 3 or 4, modest 0, 1 or 2: one of nine pairs of seats is a tie."""
    result = play_match(BOLD, MODEST, games=300, env=bidding.SPEC, objective=objective)
    value = meeting_value(result, objective)
    turned = play_match(MODEST, BOLD, games=300, env=bidding.SPEC, objective=objective)
    if objective == "win":
        assert value["score"] == pytest.approx(1 - 1 / 18, abs=0.02)
        assert value["score"] + meeting_value(turned, "win")["score"] == pytest.approx(1, abs=0.04)
    else:
        assert value["margin"] == pytest.approx(2.0, abs=0.15) and value["variance"] > 0
        assert meeting_value(turned, "margin")["margin"] == pytest.approx(-2.0, abs=0.15)


def test_hunters_of_one_and_preys_of_the_other_are_scored_by_places() -> None:
    hunter, prey = named("zero", "hunting", "hunter"), named("random", "hunting", "prey")
    value = meeting_value(play_match(hunter, prey, games=400, env=HUNTING), "win")
    # A prey that is caught comes last, and one that is not shares the place.
    assert value["score"] == pytest.approx(0.75, abs=0.05)
    swapped = meeting_value(play_match(prey, hunter, games=400, env=HUNTING), "win")
    assert swapped["score"] == pytest.approx(0.25, abs=0.05)


def test_a_game_that_two_players_cannot_fill_is_refused_with_what_to_do() -> None:
    config = RunConfig.model_validate({"env": {"name": "connect_four"}})
    both = {side: Contestant(side.upper(), "x.toml", config, ()) for side in SIDES}
    comparison = Comparison("x", both, 1, 500, 400, Path("data"))
    _check_seats(comparison, "tag", ["cat", "cat", "mouse"])
    with pytest.raises(ConfigError, match="roles cat, mouse, dog, .* fill two at most; .*`arena m"):
        _check_seats(comparison, "zoo", ["cat", "mouse", "dog"])
    with pytest.raises(ConfigError, match="no balanced plan of at most 1000 games was found"):
        _check_seats(comparison, "crowd", ["person"] * 600)


def player(role: str | None) -> ResolvedPlayer:
    return ResolvedPlayer(PlayerRef("snapshot", "a" * 64), "x", "game", {}, role=role)


def test_only_those_meet_who_can_sit_at_one_table() -> None:
    assert _meet(["player", "player"], player("player"), player("player"))
    assert _meet(["cat", "mouse"], player("cat"), player("mouse")) and _meet(
        ["cat", "mouse"], player("mouse"), player("cat")
    )
    assert not _meet(["cat", "mouse"], player("cat"), player("cat"))
    assert _meet(["alone"], player("alone"), player("alone"))
    tag = ["cat", "cat", "mouse"]
    assert _meet(tag, player("cat"), player("mouse")) and _meet(tag, player("mouse"), player("cat"))
    assert not _meet(tag, player("mouse"), player("mouse"))
    assert _meet(["player"] * 3, player("player"), player("player"))
    assert not _meet(["cat", "mouse", "dog"], player("cat"), player("mouse"))
