"""The statistics of stored matches over REST: what decides, and the margin where margins do."""

from dataclasses import replace

from arena.league.database import League
from arena.league.matches import Match, create_match
from arena.league.writer import LeagueWriter
from arena.matches.stored import stored_duel
from pbt.objective import ObjectiveKind
from tests.api.service import Service
from tests.arena.league.samples import RANDOM, game, snapshot_player

GAMES = 40


def played(league: League, objective: ObjectiveKind) -> Match:
    """A match in which the first player loses most games and wins more chips than it loses."""
    one = snapshot_player("a")
    settings = {"greedy": False, **({} if objective == "win" else {"objective": objective})}
    match = create_match(league, "leduc_holdem", {}, [one, RANDOM], GAMES, 1, settings)
    with LeagueWriter(league, match) as writer:
        for number in range(GAMES):
            first = number % 2 == 0
            chips = (6.0 if number // 2 % 3 == 0 else -1.0) + number // 2 % 5 * 0.1
            own = chips if first else -chips
            row = game(
                number,
                (one, RANDOM) if first else (RANDOM, one),
                (0, 1) if own > 0 else (1, 0),
                "evaluation",
                returns=[own, -own],
                pair=number // 2,
            )
            writer.game(replace(row, count=number))
    return match


def test_statistics_give_the_margin_where_margins_decide(service: Service) -> None:
    match = played(service.league, "margin")
    found = service.call("GET", f"/v1/matches/{match.id}/statistics")
    duel = stored_duel(service.league, match)
    assert duel is not None and duel.margin is not None
    assert found["objective"] == "margin" and found["score"] < 0.5 < found["margin"]["los"]
    assert found["margin"] == {
        "units": GAMES // 2,
        "mean": duel.margin.mean,
        "deviation": duel.margin.deviation,
        "low": duel.margin.low,
        "high": duel.margin.high,
        "interval": "skewed t",
        "los": duel.margin.los,
    }
    assert service.call("GET", f"/v1/matches/{match.id}")["objective"] == "margin"


def test_a_match_of_an_earlier_version_counts_wins(service: Service) -> None:
    match = played(service.league, "win")
    found = service.call("GET", f"/v1/matches/{match.id}/statistics")
    assert (found["objective"], found["margin"]) == ("win", None)
    assert service.call("GET", "/v1/matches")["items"][0]["objective"] == "win"
