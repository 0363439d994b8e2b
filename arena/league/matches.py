"""Matches in the league: planned games between players, outside a training."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, Row, select, update

from arena.league.chain import append, chain_of_match, said
from arena.league.chain_matches import MatchPlayed, record_begun, record_ended
from arena.league.chain_rows import MATCH, record_rows, runs_of
from arena.league.database import League, insert_row
from arena.league.game_rows import games_between
from arena.league.match_locks import is_held
from arena.league.rows import from_row, to_json
from arena.league.schema import LARGEST_MATCH, games, keys_of_match, matches
from pbt.errors import PbtError
from pbt.objective import ObjectiveKind, as_objective
from pbt.records import GameRecord, PlayerRef
from pbt.seeding import integer

SPRT_KEY, FAILED_KEY, PERSON_KEY = "sprt", "failed", "person"
OBJECTIVE_KEY, KIND_KEY, FRESH_KEY = "objective", "seating", "fresh"


def seed_of_games(asked: int, *, fresh: bool) -> int:
    """The seed of a match that is requested with the seed `asked`.

    Fresh games have a seed of their own, so that no other match has played them.
    """
    return integer(asked, FRESH_KEY, bits=31) if fresh else asked


class MatchError(PbtError):
    """A match cannot be played as requested, or cannot be resumed."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Match:
    """A match. Times are seconds since the epoch.

    id           number of the match
    env_name     the game
    env_options  the game's options
    players      in the requested order, A first
    games        how many are planned; fewer, how many were counted, after a sequential test
    seed         seed of the match
    settings     what else decides the games (greedy, opening plies, ...); under "sprt" the test
                 that may end the match, under "failed" the error that ended it, under "person" the
                 session in which a person played by hand, under "objective" what decides between
                 the players where it is not games won, and under "seating" what the games of a
                 block are where that is not two players who swap their seats; "fresh" where its
                 games count in no rating, so that no choice was made by them
    created_at   when it was planned
    finished_at  when its last game ended, None before that
    """

    id: int
    env_name: str
    env_options: Mapping[str, Any]
    players: tuple[PlayerRef, ...]
    games: int
    seed: int
    settings: Mapping[str, Any]
    created_at: float
    finished_at: float | None

    @property
    def objective(self) -> ObjectiveKind:
        """What decides between its players."""
        return as_objective(self.settings.get(OBJECTIVE_KEY, "win"))

    @property
    def failed(self) -> str | None:
        """The error that ended it before its last game, None for any other match.

        A guest's program does not work, or the game keeps raising.
        """
        reason = self.settings.get(FAILED_KEY)
        return None if reason is None else str(reason)


def create_match(
    league: League,
    env_name: str,
    env_options: Mapping[str, Any],
    players: Sequence[PlayerRef],
    games: int,
    seed: int,
    settings: Mapping[str, Any],
) -> Match:
    """Stores the plan before the first game is played, so that early results cannot change it."""
    with league.write() as connection:
        return insert_match(connection, env_name, env_options, players, games, seed, settings)


def insert_match(
    connection: Connection,
    env_name: str,
    env_options: Mapping[str, Any],
    players: Sequence[PlayerRef],
    games: int,
    seed: int,
    settings: Mapping[str, Any],
    finished_at: float | None = None,
) -> Match:
    """As `create_match`, in the caller's transaction."""
    created_at = time.time()
    match_id = insert_row(
        connection,
        matches,
        env_name=env_name,
        env_options=to_json(env_options),
        players=players_text(players),
        games=games,
        seed=seed,
        settings=to_json(settings),
        created_at=created_at,
        finished_at=finished_at,
    )
    record_rows(connection, chain_of_match(match_id), MATCH, matches.c.id == match_id)
    played = MatchPlayed(match_id, env_name, to_json(env_options), players)
    record_begun(connection, played)
    return Match(
        match_id,
        env_name,
        env_options,
        tuple(players),
        games,
        seed,
        settings,
        created_at,
        finished_at,
    )


def players_text(players: Sequence[PlayerRef]) -> str:
    """The players of a match as its row has them."""
    return to_json([[player.kind, player.name] for player in players])


def finish_match(league: League, match: Match, counted: int) -> Match:
    """Stores the end of a match.

    counted  how many games of the plan count; later ones, which were played before a sequential
             test ended the match, become superseded
    """
    finished_at = time.time()
    with league.write() as connection:
        mine = games.c.id.between(*keys_of_match(match.id)), games.c.superseded == 0
        late = (*mine, games.c.count % match.games >= counted)
        keys = list(
            connection.execute(select(games.c.id).where(*late).order_by(games.c.id)).scalars()
        )
        connection.execute(update(games).where(*late).values(superseded=1))
        marks = [["games", "superseded", 1, runs_of(keys)]] if keys else []
        after = {"finished_at": finished_at, "games": counted}
        _change_match(connection, match.id, "finished", after, marks)
        record_end(connection, match)
    return replace(match, finished_at=finished_at, games=counted)


def record_end(connection: Connection, match: Match) -> None:
    """Records the head of a match that ended, where its beginning is; in the caller's transaction.

    It comes after everything else that its chain holds.
    """
    options = to_json(match.env_options)
    record_ended(connection, MatchPlayed(match.id, match.env_name, options, match.players))


def fail_match(league: League, match: Match, reason: str | None) -> Match:
    """Stores why a match failed; its games stay. reason: None when it is resumed."""
    if reason == match.failed:
        return match
    settings = {key: value for key, value in match.settings.items() if key != FAILED_KEY}
    if reason is not None:
        settings[FAILED_KEY] = reason
    with league.write() as connection:
        kind = "goes on" if reason is None else "failed"
        _change_match(connection, match.id, kind, {"settings": to_json(settings)})
    return replace(match, settings=settings)


def _change_match(
    connection: Connection,
    match_id: int,
    kind: str,
    after: Mapping[str, Any],
    marks: Sequence[Any] = (),
) -> None:
    """Changes the row of a match, and adds the record of that to its chain.

    kind   what happened, in words
    after  column -> new value
    marks  what happened to its games, as `arena.league.chain` describes it
    """
    mine = matches.c.id == match_id
    row = connection.execute(select(matches).where(mine)).one()
    before = {name: row._mapping[name] for name in after}
    connection.execute(update(matches).where(mine).values(**after))
    changes = [["matches", match_id, before, after]]
    append(
        connection, chain_of_match(match_id), [said(kind, 1, changes=changes, marks=list(marks))]
    )


def match_row(connection: Connection, match_id: int) -> Row[Any] | None:
    """The row of this match, None where there is none. A typed number may be of any size."""
    if match_id > LARGEST_MATCH:  # SQLite takes no larger number
        return None
    return connection.execute(select(matches).where(matches.c.id == match_id)).one_or_none()


def find_match(league: League, match_id: int) -> Match:
    """The match with this number. Raises: MatchError when there is none."""
    with league.read() as connection:
        row = match_row(connection, match_id)
    if row is None:
        raise MatchError(
            f"match {match_id}: none of this number in {league.path}; `arena match` prints "
            "the number when it begins"
        )
    return to_match(row)


def to_match(row: Any) -> Match:
    return from_row(
        Match,
        row,
        env_options=json.loads(row.env_options),
        players=tuple(PlayerRef(kind, name) for kind, name in json.loads(row.players)),
        settings=json.loads(row.settings),
    )


def matches_between(
    league: League,
    env_name: str,
    env_options: Mapping[str, Any],
    players: Sequence[PlayerRef],
    seed: int,
) -> list[Match]:
    """The matches of these players in this order with this seed and any settings.

    Finished ones come first, then in the order they began.
    """
    same = (
        matches.c.env_name == env_name,
        matches.c.env_options == to_json(env_options),
        matches.c.players == players_text(players),
        matches.c.seed == seed,
    )
    with league.read() as connection:
        rows = connection.execute(
            select(matches).where(*same).order_by(matches.c.finished_at.is_(None), matches.c.id)
        ).all()
    return [to_match(row) for row in rows]


def settings_of_games(stored: str) -> str:
    """The part of stored settings that decides the games, not when they end or what counts in them.

    Two matches that agree in it play the same games.
    """
    return to_json(
        {
            key: value
            for key, value in json.loads(stored).items()
            if key not in (SPRT_KEY, FAILED_KEY, OBJECTIVE_KEY)
        }
    )


def list_matches(league: League) -> list[Match]:
    """All matches, in the order they began."""
    with league.read() as connection:
        rows = connection.execute(select(matches).order_by(matches.c.id)).all()
    return [to_match(row) for row in rows]


def unfinished_matches(league: League) -> list[Match]:
    """The matches without an end, failed ones included, the newest first."""
    with league.read() as connection:
        rows = connection.execute(
            select(matches).where(matches.c.finished_at.is_(None)).order_by(matches.c.id.desc())
        ).all()
    return [to_match(row) for row in rows]


def newest_unfinished(league: League) -> Match:
    """The newest match that can be resumed: without an end, not failed, and played by no process.

    Raises: MatchError when there is none; it says why the unfinished ones cannot be resumed.
    """
    unfinished = unfinished_matches(league)
    for match in unfinished:
        if match.failed is None and not is_held(league, match.id):
            return match
    if not unfinished:
        raise MatchError(
            f"no match in {league.path} is unfinished; start one with `arena match A B`"
        )
    by_number = "; resume a failed one with --resume NUMBER" * any(
        match.failed is not None for match in unfinished
    )
    others = "; ".join(
        (
            f"match {match.id} "
            + (f"failed ({match.failed})" if match.failed else "is being played by another process")
        )
        for match in unfinished[:3]
    )
    raise MatchError(
        f"no match in {league.path} can be resumed: {others}; expected one that was cut "
        f"off{by_number}"
    )


def stored_games(league: League, match: Match) -> list[GameRecord]:
    """The committed games of a match, by number. Voided ones are included."""
    stored = games_between(league, *keys_of_match(match.id))
    return [game.record for game in stored]
