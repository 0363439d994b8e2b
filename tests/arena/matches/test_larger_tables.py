"""Matches in games of three and more seats: copies fill the table, roles, partners, tournaments."""

import json
from pathlib import Path

import pytest

from arena.cli.match_text import match_lines
from arena.data.paths import league_path
from arena.league.database import League, open_league
from arena.league.matches import MatchError, find_match, stored_games
from arena.matches.play import play_match, resume_match
from arena.matches.report import match_json, match_report
from arena.matches.report_schema import MatchReport, PartnersReport, TableReport
from arena.matches.returns import evaluate_player
from arena.matches.stored import stored_duel
from arena.matches.tournament import plan_tournament, play_tournament
from arena.stats.sprt import Sprt
from pbt.errors import PlayerError
from pbt.objective import ObjectiveKind
from tests.arena.matches import bidding
from tests.arena.matches.agreeing import AGREEING, HUNTING, player
from tests.arena.matches.bidding import BOLD, MIDDLING, MODEST

ZERO, ONE, RANDOM = (player(name, "agreeing") for name in ("zero", "one", "random"))


def test_one_plays_against_copies_of_another() -> None:
    result = play_match(MODEST, BOLD, games=400, env=bidding.SPEC)
    report = match_report(result)
    assert isinstance(report, TableReport)
    assert (report.seating, report.blocks, report.games) == ("copies", 67, 402)
    assert [row.player.name for row in report.standings] == ["bold", "modest"]
    ahead = report.score[0][1]
    # Bold names 2, 3 or 4 and modest 0, 1 or 2: one of nine pairs of seats is a tie.
    assert ahead is not None and ahead.low < 1 - 1 / 18 < ahead.high
    assert report.verdict == "bold is stronger (95 %)"
    assert any("plays alone among copies of the other" in note for note in report.notes)
    assert match_lines(result)[0].startswith(
        "modest vs bold   bidding, 402 games in 67 blocks of 6"
    )


def test_the_same_player_twice_at_a_larger_table_is_even() -> None:
    result = play_match(BOLD, BOLD, games=300, seed=2, env=bidding.SPEC)
    assert match_report(result).verdict == "the same player twice: even, as expected"
    text = "\n".join(match_lines(result))
    assert "bold (first) " in text and "bold (second) " in text


@pytest.mark.parametrize(("objective", "said"), [("margin", 1), ("win", 0)])
def test_a_larger_table_of_margins_says_that_places_count(
    objective: ObjectiveKind, said: int
) -> None:
    note = "margins decide between two players at a table of two seats; here places count"
    result = play_match(MODEST, BOLD, games=6, env=bidding.SPEC, objective=objective)
    assert match_report(result).notes.count(note) == said
    for row in result.table.standings.standings if result.table else ():
        assert row.mean_place.low <= 2 <= row.mean_place.high


def test_a_player_named_again_is_one_of_the_copies_that_fill_the_table() -> None:
    once, again = (
        play_match(*players, games=12, env=bidding.SPEC)
        for players in ((BOLD, MODEST), (BOLD, MODEST, MODEST))
    )
    assert again.plan.players == once.plan.players == (BOLD, MODEST)
    assert [record.trajectory_hash for record in again.records] == [
        record.trajectory_hash for record in once.records
    ]


def test_a_cut_off_match_of_copies_goes_on_to_the_same_games(tmp_path: Path) -> None:
    whole = play_match(MODEST, BOLD, games=60, env=bidding.SPEC)

    def cut(done: int, planned: int) -> None:
        if done > 20:
            raise KeyboardInterrupt

    with open_league(league_path(tmp_path)) as league:
        part = play_match(
            MODEST, BOLD, games=60, env=bidding.SPEC, league=league, tables=6, on_progress=cut
        )
        assert part.interim and len(part.records) % 6 == 0
        assert part.match_id is not None
        match = find_match(league, part.match_id)
        assert (match.settings["seating"], match.settings["block"]) == ("copies", 6)
        assert stored_duel(league, match) is None
        resumed = resume_match(league, match, (MODEST, BOLD), bidding.SPEC)
        assert not resumed.interim
        assert len(stored_games(league, match)) == 60
    assert [record.seed for record in resumed.records] == [record.seed for record in whole.records]


def test_more_players_than_seats_meet_equally_often() -> None:
    four = (BOLD, MODEST, MIDDLING, bidding.bidder("random"))
    report = match_report(play_match(*four, games=200, env=bidding.SPEC))
    assert isinstance(report, TableReport)
    assert (report.seating, report.blocks) == ("groups", 50)
    assert [sum(row.places) for row in report.standings] == pytest.approx([150.0] * 4)
    assert report.standings[0].player.name == "bold"


def test_tests_and_assertions_are_of_two_seats() -> None:
    with pytest.raises(MatchError, match="2 players at tables of 3"):
        play_match(MODEST, BOLD, env=bidding.SPEC, sprt=Sprt(0, 50))


# --- roles ----------------------------------------------------------------------------------------


def test_players_of_one_role_are_compared_on_the_same_seeds() -> None:
    hunter, prey = player("zero", "hunting", "hunter"), player("one", "hunting", "prey")
    chance = player("random", "hunting")
    result = play_match(hunter, prey, chance, games=200, env=HUNTING)
    report = match_report(result)
    assert isinstance(report, TableReport)
    assert (report.seating, report.blocks) == ("roles", 50)
    rows = {(row.player.name, row.role): row.mean_return.value for row in report.standings}
    assert set(rows) == {
        ("zero", "hunter"), ("random", "hunter"), ("one", "prey"), ("random", "prey")
    }  # fmt: skip
    # The prey never names what the hunter names; each meets a random one in half of its games.
    assert rows["zero", "hunter"] == pytest.approx(0.25, abs=0.08)
    assert rows["random", "hunter"] == pytest.approx(0.5, abs=0.08)
    assert rows["one", "prey"] == pytest.approx(-0.5, abs=0.16)
    assert report.verdict == "as hunter, random is best (95 %); as prey, one is best (95 %)"
    assert any(line.startswith("Lead") for line in match_lines(result))


def test_where_returns_count_players_stand_by_role_and_return() -> None:
    """Of two hunters that always name the same, both catch the prey or none.

    They catch more preys than two that name anything, and less often any. By places they are worse.
    """
    prey, hunter = player("mostly zero", "hunting", "prey"), player("zero", "hunting", "hunter")
    chance = player("random", "hunting")
    by_places, by_returns = (
        play_match(prey, hunter, chance, games=800, env=HUNTING, objective=objective)
        for objective in ("win", "return")
    )
    places, report = match_report(by_places), match_report(by_returns)
    assert isinstance(places, TableReport) and isinstance(report, TableReport)
    assert [row.player.name for row in places.standings] == [
        "random", "zero", "random", "mostly zero"
    ]  # fmt: skip
    rows = [(row.role, row.player.name) for row in report.standings]
    assert rows == [
        ("hunter", "zero"), ("hunter", "random"), ("prey", "random"), ("prey", "mostly zero")
    ]  # fmt: skip
    assert [(one.ahead, one.behind, one.unit) for one in report.leads] == [
        (0, 1, "return"), (2, 3, "return")
    ]  # fmt: skip
    before, same = report.score[0][2], places.score[1][2]
    assert before == same is not None
    words = [line.split()[0] for line in match_lines(by_returns)[1:]]
    assert words[:6] == ["Return"] * 4 + ["Lead"] * 2
    assert not {"Place", "Before"} & set(words)


def test_each_role_has_a_table_with_a_zero_of_its_own() -> None:
    """The two hunters catch a prey in each game, so no rating compares them with preys."""
    hunter, prey = player("zero", "hunting", "hunter"), player("mostly zero", "hunting", "prey")
    result = play_match(hunter, prey, player("random", "hunting"), games=200, env=HUNTING)
    report = match_report(result)
    assert isinstance(report, TableReport)
    assert (report.objective, report.anchor) == ("win", None)
    assert report.anchor_by_role == {"hunter": "random", "prey": "random"}
    assert [row.role for row in report.standings] == ["hunter"] * 2 + ["prey"] * 2
    zeros = {row.role: row.rating for row in report.standings if row.player.name == "random"}
    assert all(one is not None and one.low == one.value == one.high == 0 for one in zeros.values())
    lines = match_lines(result)
    heads = [at for at, line in enumerate(lines) if line.startswith("Place")]
    assert [lines[at].split()[2] for at in heads] == ["hunter", "prey"]
    for at, role in zip(heads, ("hunter", "prey"), strict=True):
        assert [line[0] for line in lines[at + 1 : at + 3]] == ["1", "2"]
        assert all(f"as {role}" in line for line in lines[at + 1 : at + 3])
    assert sum(line.startswith("Before") for line in lines) == 2


def test_one_player_for_each_role_leaves_nothing_to_compare() -> None:
    hunter, prey = player("zero", "hunting", "hunter"), player("one", "hunting", "prey")
    result = play_match(prey, hunter, games=10, env=HUNTING)
    assert result.plan.seating.sittings == ((1, 1, 0),)
    assert match_report(result).verdict.startswith("every role has one player")
    with pytest.raises(PlayerError, match="seats 2 hunter and one prey: name a player of each"):
        play_match(hunter, player("one", "hunting", "hunter"), env=HUNTING)


# --- returns --------------------------------------------------------------------------------------


def test_where_returns_count_self_play_and_cross_play_are_told_with_their_gap() -> None:
    result = play_match(ZERO, ONE, games=80, env=AGREEING, objective="return")
    report = match_report(result)
    assert isinstance(report, PartnersReport)
    assert (report.blocks, report.games, report.objective) == (10, 80, "return")
    assert (report.self_play.value, report.cross_play.value, report.gap.value) == (1.0, 0.0, 1.0)
    assert [[mean.value for mean in one.with_each] for one in report.players] == [[1, 0], [0, 1]]
    lines = match_lines(result)
    assert any("self-play 1   cross-play 0   gap +1" in line for line in lines)


def test_a_player_beside_itself_has_two_rows_that_are_told_apart() -> None:
    lines = match_lines(play_match(ZERO, ZERO, games=16, env=AGREEING, objective="return"))
    (first,) = [line for line in lines if line.startswith("Return")]
    assert first.startswith("Return   zero (first)   self-play 1")
    assert any("zero (second)  self-play 1" in line for line in lines)


def test_a_sequential_test_is_refused_by_the_objective_that_has_none() -> None:
    with pytest.raises(MatchError, match='by the objective "return" each is measured with copies'):
        play_match(ZERO, ONE, games=8, env=AGREEING, objective="return", sprt=Sprt(0, 50))


def test_the_gap_of_a_random_player_is_undecided_and_its_self_play_has_an_interval() -> None:
    result = play_match(RANDOM, ZERO, games=800, env=AGREEING, objective="return")
    assert result.partners is not None
    random, zero = result.partners.players
    # Three random seats agree in a quarter of games, two beside a fixed one too, one in half.
    assert random.self_play.low is not None and random.self_play.high is not None
    assert random.self_play.low < 0.25 < random.self_play.high
    assert zero.self_play.value == 1.0
    assert random.cross_play.value == pytest.approx((0.25 + 0.5) / 2, abs=0.06)
    assert result.partners.gap.sign == 1
    assert match_report(result).verdict == (
        "zero returns most with itself (95 %); different players return less together than each "
        "with itself (95 %)"
    )


def test_a_match_of_returns_goes_on_as_such(tmp_path: Path) -> None:
    with open_league(league_path(tmp_path)) as league:
        result = play_match(ZERO, ONE, games=16, env=AGREEING, objective="return", league=league)
        assert result.match_id is not None
        match = find_match(league, result.match_id)
        assert match.settings["objective"] == "return"
        again = resume_match(league, match, (ZERO, ONE), AGREEING)
        assert match_report(again).verdict == match_report(result).verdict
        assert stored_duel(league, match) is None


def test_reports_of_larger_tables_fit_the_schema() -> None:
    hunters = [player(name, "hunting") for name in ("zero", "random")]
    for result in (
        play_match(BOLD, MODEST, games=6, env=bidding.SPEC),
        play_match(BOLD, MODEST, games=6, env=bidding.UNREPEATABLE),
        play_match(*hunters, games=8, env=HUNTING),
        play_match(ZERO, RANDOM, games=8, env=AGREEING, objective="return"),
        play_match(ZERO, ZERO, games=16, env=AGREEING, objective="return"),
    ):
        text = json.dumps(match_json(result), allow_nan=False)
        assert MatchReport.model_validate_json(text).root == match_report(result)
        assert " nan" not in "\n".join(match_lines(result))


def test_beside_a_player_of_one_role_others_are_evaluated_in_its_seats() -> None:
    """A prey is not compared with the mean of hunters and preys."""
    prey, chance = player("one", "hunting", "prey"), player("random", "hunting")
    own = evaluate_player(prey, HUNTING, episodes=400, objective="return")
    its = evaluate_player(chance.in_role("prey"), HUNTING, episodes=400, objective="return")
    assert own.seats == its.seats == ("prey",)
    lead = own.lead_over(its)
    assert lead is not None and lead[1] < 0 < lead[2]
    assert its.mean_return == pytest.approx(-1.0, abs=0.15)
    everywhere = evaluate_player(chance, HUNTING, episodes=4, objective="return")
    assert len(everywhere.seats) == 3
    hunter = player("zero", "hunting", "hunter")
    assert hunter.in_role("prey") == hunter.in_role(None) == hunter


def test_the_player_of_each_role_is_said_once() -> None:
    hunter, prey = player("zero", "hunting", "hunter"), player("one", "hunting", "prey")
    (note,) = match_report(play_match(hunter, prey, games=4, env=HUNTING)).notes
    assert "(zero is hunter, one is prey)" in note


def test_an_evaluation_of_returns_seats_the_player_everywhere() -> None:
    alone = evaluate_player(ZERO, AGREEING, episodes=40, objective="return")
    assert (alone.mean_return, alone.others, alone.together) == (1.0, 0, True)
    beside = evaluate_player(ZERO, AGREEING, episodes=60)
    assert (beside.others, beside.together) == (2, False)
    assert beside.mean_return == pytest.approx(0.25, abs=0.2)


# --- tournaments ----------------------------------------------------------------------------------


@pytest.fixture
def league(tmp_path: Path) -> League:
    return open_league(league_path(tmp_path))


def test_a_tournament_of_three_seats_is_one_match_a_round(league: League) -> None:
    players = [BOLD, MODEST, MIDDLING, bidding.bidder("random")]
    with league:
        fixtures = plan_tournament(bidding.SPEC, players, rounds=2, seed=1)
        assert [(len(one.players), one.round, one.seed) for one in fixtures] == [
            (4, 1, 1),
            (4, 2, 2),
        ]
        played = play_tournament(league, bidding.SPEC, fixtures, 20)
        assert [len(result.records) for _, result in played.results] == [20, 20]
        turned = plan_tournament(bidding.SPEC, players[::-1], rounds=2, seed=1)
        again = play_tournament(league, bidding.SPEC, turned, 20)
    assert again.match_ids == played.match_ids, "in any order of the names"


def test_a_tournament_of_two_at_a_table_of_three_fills_it_with_copies(league: League) -> None:
    with league:
        fixtures = plan_tournament(bidding.SPEC, [BOLD, MODEST], rounds=1, seed=1)
        played = play_tournament(league, bidding.SPEC, fixtures, 12)
    assert [result.plan.seating.kind for _, result in played.results] == ["copies"]
