"""Does work that was requested of the service: `python -P -m arena.programs.job NUMBER DATA`.

The process is on a leash. It writes how far it is, and at its end its report, to a file, twice a
second at most. It ends with 0 when the work is done, whatever the report says; else with the exit
code of the command that does the same.
"""

import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from arena.cli.compare import outcome_json
from arena.cli.evaluate import evaluations_json
from arena.cli.tournament import tournament_report
from arena.cli.verify import verified
from arena.data.ending import leave_ending
from arena.data.paths import league_path, match_report_file
from arena.league.database import open_league
from arena.league.job_requests import get_job
from arena.league.ratings import match_table
from arena.league.requested_work import (
    RequestedComparison,
    RequestedReturns,
    RequestedTournament,
    RequestedVerification,
    Work,
    requested_work,
)
from arena.matches.compare import Interrupted, check, read_kept
from arena.matches.compare_finals import play_finals
from arena.matches.compare_trainings import train_runs
from arena.matches.deciding import ranked_by
from arena.matches.game_list import is_spoiled
from arena.matches.returns import Returns, evaluate_player
from arena.matches.tournament import plan_tournament, play_tournament
from arena.players.resolve import ResolvedPlayer, resolve_players
from arena.programs.job_report import JobReport
from arena.programs.leash import on_leash
from arena.programs.requested_comparison import comparison_of, write_configs
from arena.verification.report import VerifyReport, VerifyRequest
from pbt.envs.contract import EnvSpec
from pbt.envs.measuring import as_played
from pbt.errors import PbtError

SPOILED, INTERRUPTED = 4, 130


def verification_report(report: VerifyReport) -> dict[str, Any]:
    """The report as plain values, every field under a name of its own."""
    chain = report.chain
    return {
        "kind": report.kind,
        "name": report.name,
        "ok": report.ok,
        "head": chain.head,
        "records": chain.records,
        "begun_at": chain.begun_at,
        "rows_before": dict(chain.unknown),
        "rows_recorded": dict(chain.rows),
        "games_folded": chain.folded,
        "seen_heads": dict(chain.seen),
        "counts": dict(report.counts),
        "played_again": None if report.replays is None else asdict(report.replays),
        "notes": list(report.notes),
        "differences": [asdict(difference) for difference in report.differences],
    }


def verify(asked: RequestedVerification, data: Path, told: JobReport) -> int:
    """Verify a population, a match or the imports. No file of a user is run."""
    wanted = VerifyRequest(asked.head, asked.replay, allow_files=False)
    told.tell(verification_report(verified(data, asked.name, wanted, told.look)))
    return 0


def players_of(
    asked: RequestedTournament | RequestedReturns, data: Path
) -> tuple[EnvSpec, list[ResolvedPlayer]]:
    """The game and the players. Only those of the league and registered games are allowed."""
    spec, players = resolve_players(asked.players, data, asked.env)
    spec = as_played(spec, players[0].env_options)
    return spec, ranked_by(spec, players, asked.objective)


def hold_tournament(asked: RequestedTournament, data: Path, told: JobReport) -> int:
    """Play the matches that are not played yet, and rate the players by all of them."""
    spec, players = players_of(asked, data)
    fixtures = plan_tournament(spec, players, asked.rounds, asked.seed)
    with open_league(league_path(data)) as league:
        played = play_tournament(
            league, spec, fixtures, asked.games, on_progress=told.counts("games")
        )
        if played.interim:
            return INTERRUPTED
        told.tell(tournament_report(played, match_table(league, played.match_ids)))
    games = sum(len(result.records) for _, result in played.results)
    return spoiled(games) if is_spoiled(played.errors, games) else 0


def measure_returns(asked: RequestedReturns, data: Path, told: JobReport) -> int:
    """Measure each player, in the role of the first."""
    spec, players = players_of(asked, data)
    results: list[Returns] = []
    for player in players:
        result = evaluate_player(
            player.in_role(players[0].role),
            spec,
            episodes=asked.episodes,
            seed=asked.seed,
            greedy=asked.greedy,
            on_progress=told.counts(f"episodes of {player.label}"),
            objective=players[0].objective,
        )
        if result.interim:
            return INTERRUPTED
        results.append(result)
    told.tell(evaluations_json(results))
    return spoiled(asked.episodes) if any(result.spoiled for result in results) else 0


def compare(asked: RequestedComparison, data: Path, told: JobReport) -> int:
    """Train what is not trained yet, play what is not played yet. The verdict is in the report."""
    comparison = comparison_of(asked, data)
    check(comparison)
    read_kept(comparison)  # The name may be another's by now, whose configs stay as they are.
    write_configs(comparison)
    try:
        train_runs(comparison, say, told.tells("trainings"))
        outcome = play_finals(comparison, say, told.counts("matches"))
    except Interrupted:
        return INTERRUPTED
    told.tell(outcome_json(outcome))
    games = outcome.games * len(outcome.values) ** 2
    return spoiled(games) if is_spoiled(outcome.errors, games) else 0


def spoiled(games: int) -> int:
    """Say that too many games raised. Returns the exit code."""
    say(f"error: the game raised in more than 1 % of {games} games: fix the game")
    return SPOILED


def say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


def do(work: Work, data: Path, told: JobReport) -> int:
    """Do the work. Returns the exit code. Raises: PbtError, KeyboardInterrupt."""
    match work:
        case RequestedVerification():
            return verify(work, data, told)
        case RequestedTournament():
            return hold_tournament(work, data, told)
        case RequestedReturns():
            return measure_returns(work, data, told)
        case RequestedComparison():
            return compare(work, data, told)


def main() -> int:
    """Returns the exit code. An error that a user can mend is one line on standard error."""
    number, data = int(sys.argv[1]), Path(sys.argv[2])
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        with open_league(league_path(data), read_only=True) as league:
            request = get_job(league, number)
        told = JobReport(match_report_file(data, number))
        told.tell(None)
        return do(requested_work(request.kind, request.asked), data, told)
    except PbtError as error:
        say(f"error: {error}")
        leave_ending(error)
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(on_leash(main))
