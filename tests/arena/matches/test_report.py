"""What a match says, to people and to programs."""

import json
import math
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arena.cli.match_text import match_lines
from arena.guests.program import GuestProgram
from arena.matches.assertions import read_assertions
from arena.matches.match_result import PlayedMatch
from arena.matches.plan import MatchPlan
from arena.matches.play import play_match
from arena.matches.report import match_json, match_report, resume_command
from arena.matches.report_schema import DuelReport, MatchReport, TableReport, schema_text
from arena.matches.seating import Seating
from arena.matches.verdict import verdict
from arena.players.resolve import ResolvedPlayer
from arena.stats.anytime import score_sequence
from arena.stats.score import MatchGame, match_statistics, pair_interval
from arena.stats.sprt import SequentialTest, Sprt
from pbt.records import GameRecord, PlayerRef, SeatRecord
from tests.arena.matches import bidding
from tests.arena.matches.bidding import BOLD, MIDDLING, MODEST
from tests.arena.stats.test_score import published_sample

SCHEMA = Path(__file__).resolve().parents[3] / "docs/schemas/match.json"


def scripted(name: str, env: str = "connect_four") -> ResolvedPlayer:
    return ResolvedPlayer(PlayerRef("scripted", name), name, env, {})


RANDOM, ONEPLY = scripted("random"), scripted("oneply")


def published_match() -> PlayedMatch:
    """The sample of `published_sample`, as if it had been played."""
    stats = match_statistics(published_sample())
    seats = (SeatRecord(ONEPLY.ref, 0, 0, 0, 0, 1.0), SeatRecord(RANDOM.ref, 0, 0, 0, 1, -1.0))
    records = tuple(
        GameRecord(
            index,
            0,
            index,
            "evaluation",
            1,
            seats,
            18 + 12 * (index % 2),
            24,
            "rules",
            f"{index:08x}",
            pair=index // 2,
        )
        for index in range(400)
    )
    plan = play_match(ONEPLY, RANDOM, games=2, seed=7).plan
    return PlayedMatch(
        replace(plan, games=400), 12, stats, None, (), None, records, (), 61.3, False, ()
    )


def test_the_block_of_a_published_sample() -> None:
    assert match_lines(published_match()) == [
        (
            "oneply vs random   connect_four, 400 games in 200 seed pairs, sampled actions, 2 "
            "random plies to open, seed 7"
        ),
        "Score    54.4 % [51.1, 57.6]   won 108, drawn 219, lost 73   points 217.5 / 400",
        "Elo      +30.5 ± 22.6   nElo +46.2 [+10.9, +81.6]   LOS 99.6 %   (oneply above random)",
        "Pairs    Ptnml(0-2) [8, 31, 96, 48, 17]   WL/DD 26/70   pairs won/lost 65/39",
        (
            "Seats    first 91-101-8   second 17-118-65   first vs second 156-219-25   "
            "(won-drawn-lost)"
        ),
        "Games    24.0 ± 6.0 decisions, distinct 400/400, forfeits 0, errors 0, 61.3 games/s",
        "Saved    match 12",
        "Verdict  oneply is stronger (95 %)",
    ]


def test_the_committed_schema_is_that_of_the_model() -> None:
    assert SCHEMA.read_text(encoding="utf-8") == schema_text(), (
        "write it anew: python -m arena.matches.report_schema > docs/schemas/match.json"
    )


def matches() -> Iterator[PlayedMatch]:
    yield play_match(ONEPLY, RANDOM, games=40)
    yield play_match(ONEPLY, RANDOM, games=2)
    yield play_match(RANDOM, RANDOM, games=4, greedy=True)
    yield play_match(ONEPLY, RANDOM, games=400, sprt=Sprt(0, 50))
    yield play_match(RANDOM, ONEPLY, games=4, sprt=Sprt(0, 5))
    yield play_match(scripted("random", "cartpole"), scripted("random", "cartpole"), games=30)
    yield play_match(
        scripted("random", "cartpole"), scripted("random", "cartpole"), games=30, sprt=Sprt(0, 300)
    )
    yield play_match(BOLD, MODEST, MIDDLING, games=30, env=bidding.SPEC)
    yield play_match(BOLD, MODEST, MIDDLING, games=3, env=bidding.UNREPEATABLE)


def numbers(value: Any) -> Iterator[float]:
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from numbers(part)
    elif isinstance(value, float):
        yield value


def test_every_kind_of_match_fits_the_schema_and_says_no_nan() -> None:
    kinds = set()
    for result in matches():
        report = match_json(result)
        assert all(math.isfinite(number) for number in numbers(report))
        assert MatchReport.model_validate_json(
            json.dumps(report, allow_nan=False)
        ).root == match_report(result)
        text = "\n".join(match_lines(result))
        assert " nan" not in text
        assert " inf" not in text
        kinds.add(report["kind"])
    assert kinds == {"duel", "table"}


def test_a_test_is_told_with_its_bounds_and_that_the_estimate_is_biased() -> None:
    result = play_match(ONEPLY, RANDOM, games=400, sprt=Sprt(0, 50))
    report, lines = match_report(result), match_lines(result)
    assert isinstance(report, DuelReport)
    assert report.sprt is not None
    assert (report.sprt.state, report.biased, report.interim) == ("accept H1", True, False)
    assert report.games == 2 * report.sprt.looked_at < report.planned == 400
    (line,) = [line for line in lines if line.startswith("SPRT")]
    assert line.startswith(f"SPRT     H1 accepted after {report.sprt.looked_at} pairs: LLR ")
    assert line.endswith("in [-2.94, 2.94], nElo 0 against 50")
    assert any("score and Elo lean the way it decided" in line for line in lines)
    assert any("confidence sequences, which hold at any stop" in line for line in lines)
    assert report.interval == "sequence"
    assert report.pair_counts is not None
    assert (report.low, report.high) == score_sequence(report.pair_counts, Sprt(0, 50).window(2))
    fixed = pair_interval(report.pair_counts)
    assert report.low < fixed[0] and report.high >= fixed[1]
    assert "] at any stop   won" in lines[1]
    assert "at any stop   nElo not available   (oneply above random)" in lines[2]
    assert "LOS" not in lines[2]
    assert report.los is None
    assert report.no_los is not None and "for a fixed number of games" in report.no_los
    assert lines[-1] == "Verdict  oneply is stronger (sequential test, normalised Elo)"


def test_an_undecided_test_is_not_biased_and_its_assertion_is_open() -> None:
    result = play_match(RANDOM, RANDOM, games=8, sprt=Sprt(0, 5))
    report = match_report(result, read_assertions(["sprt", "score<0.9"], tested=True))
    assert isinstance(report, DuelReport)
    assert report.sprt is not None
    assert (report.sprt.state, report.biased) == ("continue", False)
    assert [(one.text, one.holds) for one in report.assertions] == [
        ("sprt", None),
        ("score<0.9", True),
    ]


def test_alone_the_higher_return_wins_and_the_lead_has_an_interval() -> None:
    player = scripted("random", "cartpole")
    result = play_match(player, player, games=200)
    report = match_report(result)
    assert isinstance(report, DuelReport)
    assert report.returns is not None and report.returns.lead is not None
    seeds = [
        (first, second)
        for first, second in zip(result.records[::2], result.records[1::2], strict=True)
    ]
    assert all(first.seed == second.seed for first, second in seeds)
    leads = [first.seats[0].returns - second.seats[0].returns for first, second in seeds]
    assert report.wins == sum(lead > 0 for lead in leads)
    assert report.draws == sum(lead == 0 for lead in leads)
    assert report.wins + report.draws + report.losses == 100
    assert report.returns.mean_lead == pytest.approx(sum(leads) / 100)
    assert report.returns.lead.low < 0 < report.returns.lead.high
    assert report.pair_counts is None
    lines = match_lines(result)
    assert "200 games on 100 seeds" in lines[0]
    assert [line.split()[0] for line in lines[1:]] == [
        "Score",
        "Elo",
        "Return",
        "Lead",
        "Games",
        "Verdict",
    ]


@pytest.mark.parametrize("sprt", [None, Sprt(0, 50)])
def test_games_that_repeat_each_other_weaken_the_verdict(sprt: Sprt | None) -> None:
    """Two that always do the same have played two games, however often they are repeated."""
    rock, paper = scripted("rock", "rock_paper_scissors"), scripted("paper", "rock_paper_scissors")
    result = play_match(rock, paper, games=40, sprt=sprt)
    assert verdict(result).endswith(", if games that are alike were independent)")
    assert any(
        "games are distinct, so the interval is too narrow" in note
        for note in match_report(result).notes
    )


def test_a_table_of_three_is_ranked_by_places() -> None:
    result = play_match(MODEST, BOLD, MIDDLING, games=150, env=bidding.SPEC)
    report = match_report(result)
    assert isinstance(report, TableReport)
    assert [row.player.name for row in report.standings] == ["bold", "middling", "modest"]
    assert (report.games, report.blocks, report.anchor) == (150, 50, "modest")
    ratings = [row.rating.value for row in report.standings if row.rating is not None]
    assert ratings == sorted(ratings, reverse=True)
    assert ratings[-1] == 0.0
    for row in report.standings:
        assert row.mean_place.low < row.mean_place.value < row.mean_place.high
        assert row.place_points.value == pytest.approx((3 - row.mean_place.value) / 2)
        assert sum(row.places) == pytest.approx(150)
    # Bold names 2, 3 or 4, modest 0, 1 or 2: a tie in one game of nine.
    before = report.score[0][2]
    assert before is not None
    assert before.value == pytest.approx(1 - 1 / 18, abs=0.03)
    assert report.score[0][0] is None
    lines = match_lines(result)
    assert lines[0].startswith("modest vs bold vs middling   bidding, 150 games in 50 blocks of 3")
    (pinned,) = [line for line in lines if line.startswith("3        modest")]
    assert pinned.count("[") == 3 and "  0  " in pinned
    assert any("intervals of Elo take all games as independent" in line for line in lines)
    assert lines[-1] == "Verdict  bold comes first (95 %)"


def test_places_do_not_depend_on_the_order_of_the_names() -> None:
    found = [
        match_report(play_match(*players, games=90, env=bidding.SPEC))
        for players in ((MODEST, BOLD, MIDDLING), (BOLD, MIDDLING, MODEST))
    ]
    first, second = (
        [row.player.name for row in report.standings]
        for report in found
        if isinstance(report, TableReport)
    )
    assert first == second


def test_an_interrupted_match_says_how_to_go_on() -> None:
    plan: MatchPlan = published_match().plan
    cut = replace(published_match(), plan=replace(plan, games=800), interim=True)
    assert match_report(cut).resume == "arena match --resume 12"
    assert "Saved    match 12; go on with: arena match --resume 12" in match_lines(cut)
    assert match_lines(replace(cut, match_id=None))[-1].startswith("Interim")
    assert match_report(replace(cut, match_id=None)).resume is None


def test_the_players_are_named_again_where_one_is_a_program() -> None:
    program = GuestProgram(
        ("/home/a user/bot.py", "--depth", "3"),
        "bot.py --depth 3",
        "bot.py --depth 3 #5f0c9a1b22d4",
    )
    guest = ResolvedPlayer(
        PlayerRef("guest", program.name), program.label, "connect_four", {}, program=program
    )
    words = shlex.split(resume_command(7, (ONEPLY, guest)))
    assert words == [
        "arena",
        "match",
        "oneply",
        "exec:'/home/a user/bot.py' --depth 3",
        "--resume",
        "7",
    ]
    hasty = replace(guest, program=replace(program, move_timeout_s=0.5))
    assert shlex.split(resume_command(7, (RANDOM, ONEPLY, hasty)))[2:] == [
        "random",
        "oneply",
        words[3],
        "--resume",
        "7",
        "--move-timeout",
        "0.5",
    ]


@pytest.mark.parametrize(
    ("elo0", "elo1", "stronger", "not_stronger"),
    [
        (0, 50, "stronger", "not stronger by 50 or more"),
        (10, 50, "stronger by more than 10", "not stronger by 50 or more"),
        (-20, 20, "not weaker by 20 or more", "not stronger by 20 or more"),
        (-20, 0, "not weaker by 20 or more", "weaker"),
        (-50, -20, "not weaker by 50 or more", "weaker by more than 20"),
    ],
)
def test_what_a_test_rejected_is_said_in_words(
    elo0: float, elo1: float, stronger: str, not_stronger: str
) -> None:
    """Accepting ELO1 rejects a strength of ELO0 or less, and the reverse."""
    for points, words in ((2.0, stronger), (0.0, not_stronger)):
        test = SequentialTest(Sprt(elo0, elo1), 2)
        test.look([points] * 200)
        said = verdict(replace(published_match(), test=test))
        assert said == f"oneply is {words} (sequential test, normalised Elo)"


def alone(leads: list[float], name: str = "oneply") -> PlayedMatch:
    """A match of one seat with these leads of the first player."""
    stats = match_statistics(
        [MatchGame(float(lead > 0), True, None, str(index)) for index, lead in enumerate(leads)]
    )
    seating = Seating(((0,), (1,)), paired=True, kind="alone")
    plan = replace(published_match().plan, players=(scripted(name), RANDOM), seating=seating)
    return replace(
        published_match(),
        plan=plan,
        statistics=stats,
        returns=tuple((10 + lead, 10.0) for lead in leads),
    )


def test_alone_seeds_won_and_the_mean_are_two_answers() -> None:
    noise = [0.1, -0.1]
    often_little = [1 + one for one in noise * 45] + [-15 + one for one in noise * 5]
    assert (
        verdict(alone([5 + one for one in noise * 50]))
        == "oneply is stronger: it wins more seeds and returns more in the mean (95 %)"
    )
    assert (
        verdict(alone([-lead for lead in often_little]))
        == "random wins more seeds, which player returns more in the mean is not decided (95 %)"
    )
    assert (
        verdict(alone([5, -1] * 50))
        == "which player wins more seeds is not decided, oneply returns more in the mean (95 %)"
    )
    assert verdict(alone([1, -1] * 50)).startswith("not decided (95 %); four times the games")


def test_one_player_twice_is_told_apart_and_both_figures_are_looked_at() -> None:
    one = alone([5, -1] * 50, "random")
    assert (
        verdict(one)
        == "the same player twice: the lead off 0, which chance does in one match of twenty"
    )
    assert verdict(alone([1, -1] * 50, "random")) == "the same player twice: even, as expected"
    lines = match_lines(one)
    assert any("(random (first) above random (second))" in line for line in lines)
    assert not any("random above random" in line for line in lines)
