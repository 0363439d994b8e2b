"""Verification of a population: its chain, rounds, wiring certificates, games, snapshots and
checkpoints.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from sqlalchemy import select

from arena.data.paths import league_path, population_paths
from arena.league.best import best_of_each_role
from arena.league.chain import chain_of_population, deleted_population
from arena.league.chain_check import ChainReport, check_chain
from arena.league.chain_rows import EVALUATION_GAMES, TRAINING_GAMES
from arena.league.chain_state import Difference
from arena.league.database import League, count_rows, open_league
from arena.league.game_choice import GameFilter
from arena.league.game_rows import StoredGame, population_games
from arena.league.missing_rounds import missing_rounds
from arena.league.populations import find_population, starts_of, stored_config, streams_of
from arena.league.results import matches_among
from arena.league.round_history import history_problems, missing_games
from arena.league.schema import EVALUATION, games, incarnations
from arena.league.stored_history import list_certificates, list_rounds
from arena.league.stored_snapshots import list_snapshots
from arena.league.verify import verify_rounds
from arena.verification.beginnings import beginning_differences
from arena.verification.files import (
    CheckpointFacts,
    checkpoint_differences,
    read_checkpoints,
    snapshot_differences,
)
from arena.verification.games import play_games
from arena.verification.match import check_match, games_of_match, missing_matches
from arena.verification.report import (
    Observer,
    ReplayReport,
    VerifyReport,
    VerifyRequest,
    head_difference,
    joined,
    shared_sample,
    text_differences,
)
from arena.words import number_of
from pbt.config.schema import RunConfig
from pbt.config.stored import config_as_stored
from pbt.errors import PbtError, PlayerError
from pbt.records import GameRecord
from pbt.seeding import game_seed

_COUNTS = (
    "rounds",
    "copies",
    "scores",
    "scores_folded",
    "games_read",
    "certificates",
    "checkpoints",
    "snapshot_files",
    "snapshots_removed",
    "matches",
    "match_games",
)
_FILES = ("file with the SHA-256 of its id", "files with the SHA-256 of their ids")
UNREADABLE = (ValueError, TypeError, KeyError, IndexError, msgspec.MsgspecError)


def verify_population(
    data: Path, name: str, request: VerifyRequest, observe: Observer
) -> VerifyReport:
    """Verifies a population. Raises: PlayerError when there is none of this name."""
    with open_league(league_path(data), read_only=True) as league:
        _refuse_deleted(league, name)
        return _PopulationCheck(league, data, name, request, observe).run()


def _refuse_deleted(league: League, name: str) -> None:
    """Raises: PlayerError for a population that was deleted; it names the head it had."""
    try:
        with league.read() as connection:
            find_population(connection, name)
    except PlayerError as error:
        record = deleted_population(league, name)
        if record is None:
            raise
        deleted = datetime.fromtimestamp(record.created_at, UTC)
        raise PlayerError(
            f"population {name!r} was deleted on {deleted:%Y-%m-%d}; the head of its chain was "
            f"{record.content.said['head']}"
        ) from error


class _PopulationCheck:
    def __init__(
        self, league: League, data: Path, name: str, request: VerifyRequest, observe: Observer
    ) -> None:
        self._league, self._data, self._name = league, data, name
        self._request, self._observe = request, observe
        self._paths = population_paths(data, name)
        with league.read() as connection:
            self._row = find_population(connection, name)
        self._matches, self._evaluated = matches_among(league, name), 0
        self._differences: list[Difference] = []
        self._counts: dict[str, int] = dict.fromkeys(_COUNTS, 0)

    def run(self) -> VerifyReport:
        checkpoints = read_checkpoints(self._paths.checkpoints)
        chain = self._check_chain(checkpoints)
        with self._reading("rounds"):
            self._check_rounds(chain, checkpoints)
        with self._reading("wiring certificates"):
            self._check_wiring()
        with self._reading("snapshots"):
            self._check_snapshots()
        with self._reading("matches"):
            self._differences += missing_matches(self._league, chain, self._matches)
        own, *shares = self._shares()
        replays: list[ReplayReport] = []
        with self._reading("evaluation games"):
            replays.append(self._play_again(own))
        for number, share in zip(self._matches, shares, strict=True):
            with self._reading(f"match:{number}"):
                replays += self._check_match(number, share)
        best: tuple[str, ...] = ()
        with self._reading("ratings"):
            best = self._best()
        return VerifyReport(
            "population",
            self._name,
            chain,
            tuple(self._differences),
            self._counts,
            joined(replays),
            self._notes(chain, best),
        )

    def _check_chain(self, checkpoints: list[CheckpointFacts]) -> ChainReport:
        published = [] if self._request.head is None else [self._request.head]
        wanted = {*published, *(one.head for one in checkpoints if one.head is not None)}
        chain = check_chain(
            self._league,
            chain_of_population(self._row.id),
            wanted,
            lambda what, done: self._observe(what, done, None),
        )
        self._differences += [*chain.differences, *head_difference(self._request, chain)]
        return chain

    def _check_rounds(self, chain: ChainReport, checkpoints: list[CheckpointFacts]) -> None:
        league, name = self._league, self._name
        checks = verify_rounds(
            league, name, lambda done, total: self._observe("rounds", done, total)
        )
        rounds = [check.round for check in checks]
        problems = [(check.round, problem) for check in checks for problem in check.problems]
        problems += history_problems(league, name, rounds)
        self._differences += text_differences(
            [
                (f"round {stored.record.round} of {stored.record.member}", problem)
                for stored, problem in problems
            ]
        )
        gap = missing_games(league, name)
        self._differences += [] if gap is None else text_differences([("games", gap)])
        self._differences += missing_rounds(league, name, rounds, chain.begun_at or 0.0)
        with league.read() as connection:
            starts = starts_of(connection, self._row.id)
        newest = (int(starts[-1].id), starts[-1].from_checkpoint) if starts else None
        decided = list_rounds(league, name)
        self._differences += checkpoint_differences(checkpoints, chain.seen, decided, newest)
        self._counts |= {
            "rounds": len(checks),
            "copies": sum(one.record.directive.copy_from is not None for one in rounds),
            "scores": sum(len(c.round.record.scores) - len(c.folded) for c in checks),
            "scores_folded": sum(len(check.folded) for check in checks),
            "games_read": sum(check.games_read for check in checks),
            "checkpoints": len(checkpoints),
        }

    def _check_wiring(self) -> None:
        """A certificate says what parts of the training did not agree on."""
        certificates = [one.record for one in list_certificates(self._league, self._name)]
        self._differences += text_differences(
            [
                (f"wiring of {one.member}, round {one.round}, from {one.frames} frames", problem)
                for one in certificates
                for problem in one.problems
            ]
        )
        self._counts["certificates"] = len(certificates)

    def _check_snapshots(self) -> None:
        made, folder = (
            list_snapshots(self._league, self._name, superseded=True),
            self._paths.snapshots,
        )
        counts, differences = snapshot_differences(made, folder, self._observe)
        self._counts |= counts
        self._differences += differences
        self._differences += beginning_differences(self._config(), made, folder)

    def _config(self) -> RunConfig:
        table = stored_config(self._league, self._name)
        return config_as_stored(table, f"stored config of {self._name!r}")

    @contextmanager
    def _reading(self, what: str) -> Iterator[None]:
        """An altered row that cannot be read ends the block, and makes a difference."""
        try:
            yield
        except (*UNREADABLE, PbtError) as error:
            found = f"a row that cannot be read: {type(error).__name__}: {error}"
            self._differences.append(Difference(what, found))

    # --- evaluation games -------------------------------------------------------------------------

    def _shares(self) -> list[int | None]:
        """How many evaluation games, then games of each match, are played again; None for all."""
        starts = select(incarnations.c.id).where(incarnations.c.population_id == self._row.id)
        mine = (
            games.c.incarnation_id.in_(starts),
            games.c.kind == EVALUATION,
            games.c.voided == 0,
        )
        with self._league.read() as connection:
            self._evaluated = count_rows(connection, games, *mine)
        of_matches = [games_of_match(self._league, number) for number in self._matches]
        self._counts |= {"matches": len(of_matches), "match_games": sum(of_matches)}
        return shared_sample([self._evaluated, *of_matches], self._request.replay)

    def _check_match(self, number: int, share: int | None) -> list[ReplayReport]:
        """Verifies a match whose games may count in the ratings, with its chain."""
        request = replace(self._request, head=None, replay=share)
        report = check_match(self._league, self._data, number, request, self._observe)
        self._differences += [
            replace(one, where=f"match:{number}, {one.where}") for one in report.differences
        ]
        return [] if report.replays is None else [report.replays]

    def _play_again(self, share: int | None) -> ReplayReport:
        config = self._config()
        self._differences += self._wrong_seeds(config.seed)
        replays, differences = play_games(
            config.env.name,
            config.env.game_options,
            self._evaluations,
            self._evaluated,
            replace(self._request, replay=share),
            self._game_name,
            self._observe,
        )
        self._differences += differences
        return replays

    def _evaluations(self) -> Iterator[StoredGame]:
        return population_games(self._league, self._name, GameFilter("evaluation", superseded=True))

    def _game_name(self, record: GameRecord) -> str:
        return f"{self._name}:{record.number}"

    def _wrong_seeds(self, seed: int) -> Iterator[Difference]:
        """The seed of a game follows from the run's seed, its table and its count there.

        A game may have begun before the start that ended it, and by the streams of that time.
        """
        streams = streams_of(self._league, self._name)
        for stored in self._evaluations():
            record = stored.record
            ended_by = stored.incarnation or 0
            begun_by = {kind for start, kind in streams.items() if start <= ended_by}
            place = seed, record.environment, record.count
            expected = [game_seed(*place, kind) for kind in sorted(begun_by, reverse=True)]
            if record.seed not in expected:
                where = f"game {self._game_name(record)}, seed"
                yield Difference(where, f"{record.seed}", f"{expected[0]}")

    # --- words ------------------------------------------------------------------------------------

    def _best(self) -> tuple[str, ...]:
        """What the ratings, which these games make, say of each role that has a best snapshot."""
        best = best_of_each_role(self._league, self._name)
        if len(best) == 1:
            return tuple(f"{one.label} is the best" for one in best.values())
        return tuple(f"{one.label} is the best {role}" for role, one in best.items())

    def _notes(self, chain: ChainReport, best: tuple[str, ...]) -> tuple[str, ...]:
        counts = self._counts
        folded = ""
        if lost := counts["scores_folded"]:
            scores = number_of(lost, "score")
            folded = f"; {scores} cannot be recomputed, their games were folded into counts"
        attested = chain.rows.get(TRAINING_GAMES, 0) - chain.folded
        evaluations = sum(rows.get(EVALUATION_GAMES, 0) for rows in (chain.rows, chain.unknown))
        before = len(set(self._matches) - chain.matches.keys())
        unknown = f", {before} of them from before matches were recorded" if before else ""
        rated = f"; from what the ratings count of them, {' and '.join(best)}" if best else ""
        return (
            f"rounds: {counts['rounds']} ({counts['copies']} with copies), "
            f"{number_of(counts['scores'], 'score')} from "
            f"{number_of(counts['games_read'], 'training game')}{folded}",
            f"training games: {max(attested, 0)} attested by their digests only, since they store "
            "no actions",
            f"evaluation games: {evaluations}; {number_of(counts['match_games'], 'game')} of "
            f"{number_of(counts['matches'], 'match', 'matches')} among its "
            f"players{unknown}{rated}",
            f"wiring: {number_of(counts['certificates'], 'certificate')} "
            "of what the parts of the training worked with",
            f"snapshots: {number_of(counts['snapshot_files'], *_FILES)}; "
            f"{counts['snapshots_removed']} without weights, which retention or a person removed",
        )
