"""Matches on request of the service: what decides, and games that count in no rating."""

from pathlib import Path

import pytest

from api.routes.evaluations import evaluation_body
from arena.data.paths import league_path, match_report_file
from arena.league.database import open_league
from arena.league.idempotency import Answer
from arena.league.match_requests import RequestedMatch, ask_for_match, open_match_requests
from arena.league.matches import FRESH_KEY, find_match
from arena.matches.report_schema import DuelReport
from arena.programs.match import play
from pbt.objective import ObjectiveKind


@pytest.mark.parametrize(
    ("asked", "played"), [(None, "margin"), ("margin", "margin"), ("win", "win")]
)
def test_a_request_names_what_decides_and_whether_games_are_fresh(
    tmp_path: Path, asked: ObjectiveKind | None, played: ObjectiveKind
) -> None:
    fresh = asked is not None
    request = RequestedMatch(("random", "random"), "leduc_holdem", 4, 1, False, None, asked, fresh)
    with open_league(league_path(tmp_path)) as league:
        ask_for_match(league, request, None, lambda _: Answer(202, None, ""))
        (made,) = open_match_requests(league)
        assert made.request == request
        assert play(league, tmp_path, made.id) == 0
        match = find_match(league, 1)
    shown = evaluation_body(made)
    assert (shown.seed, shown.asked_seed) == (match.seed, 1)
    assert (shown.seed != 1) == fresh
    assert (match.objective, match.settings.get(FRESH_KEY, False)) == (played, fresh)
    report = DuelReport.model_validate_json(match_report_file(tmp_path, made.id).read_text())
    assert (report.objective, report.margin is not None) == (played, played == "margin")
