"""Names of snapshots: `demo/m2`, `demo/m2@1.2M`, `demo@best`, an id or the beginning of one.

A population whose members play several roles has a best of each: `tag/prey@best`.
"""

import difflib
import re
from collections.abc import Sequence

from sqlalchemy import select

from arena.data.paths import IMPORTED
from arena.league.best import best_of_each_role, most_games
from arena.league.database import League
from arena.league.frames import frames_text
from arena.league.populations import find_population
from arena.league.schema import PLAYER_KINDS, players
from arena.league.stored_snapshots import (
    StoredSnapshot,
    imported_snapshots,
    list_snapshots,
    snapshots_of,
)
from arena.league.summaries import list_members, member_names, roles_of
from arena.stats.bradley_terry import BEST_MIN_GAMES
from pbt.errors import PlayerError

FORMS = (
    "demo/m2 (newest snapshot of a member), demo/m2@1.2M (the one at or below that many "
    "frames), demo@best (demo/ROLE@best where members play several roles), or a snapshot id"
)
BEST = "best"
_FRAMES = re.compile(r"(\d+(?:\.\d+)?)([kMB]?)")
_UNITS = {"": 1, "k": 10**3, "M": 10**6, "B": 10**9}
_ID = re.compile(r"[0-9a-f]{4,64}")


def find_snapshot(league: League, text: str, *, playable: bool = True) -> StoredSnapshot:
    """The snapshot with this name. Raises: PlayerError that says which players there are.

    playable  whether it must still have its weights
    """
    population, at, rest = text.partition("@")
    if not text or _names_file(text):
        found = "a file" if text else "no name"
        raise PlayerError(
            f"player {text!r}: found {found}; expected a snapshot: {FORMS}. `arena import` takes "
            "the weights of a file into the league, as imported/NAME"
        )
    if instead := _weightless(league, text):
        raise PlayerError(
            f"player {text!r}: found {instead}, which has no weights; expected a snapshot: {FORMS}"
        )
    if "/" in population:
        population, _, member = population.partition("/")
        if population == IMPORTED:
            return _import(league, text, member + at + rest)
        if rest == BEST and member in roles_of(league, population):
            return _best(league, text, population, member)
        return _of_member(league, text, population, member, rest if at else None, playable=playable)
    if at:
        return _best_of_all(league, text, population, rest)
    if _ID.fullmatch(text):
        return _by_id(league, text, playable=playable)
    with league.read() as connection:
        find_population(connection, text)
    raise PlayerError(
        f"{text!r} is a population; expected one player of it: {best_names_text(league, text)}, or "
        f"a member such as {_first_member(league, text)}"
    )


def best_names(league: League, population: str) -> list[str]:
    """The names of a population's best players: one, or one for each role. Raises: PlayerError."""
    roles = roles_of(league, population)
    if len(roles) < 2:
        return [f"{population}@{BEST}"]
    return [f"{population}/{role}@{BEST}" for role in roles]


def best_names_text(league: League, population: str) -> str:
    """The same for people: "demo@best", or "tag/predator@best or tag/prey@best"."""
    return " or ".join(best_names(league, population))


def _names_file(text: str) -> bool:
    """Whether a name means a file: no population's begins so, or ends so."""
    return text.startswith((".", "/", "~")) or text.endswith(".safetensors")


def _weightless(league: League, text: str) -> str | None:
    """What kind of player without weights this name means, None for other names."""
    if text.startswith("exec:"):
        return "a program"
    kind, name = players.c.kind == PLAYER_KINDS.index("scripted"), players.c.name == text
    with league.read() as connection:
        played = connection.execute(select(players.c.id).where(kind, name)).first() is not None
    return "a built-in player" if played or text == "random" else None


def _import(league: League, text: str, name: str) -> StoredSnapshot:
    imports = {stored.record.member: stored for stored in imported_snapshots(league)}
    if name in imports:
        return imports[name]
    near = difflib.get_close_matches(name, imports, n=1)
    hint = (
        f"did you mean imported/{near[0]}?"
        if near
        else f"imported are {', '.join(imports) or 'none: arena import FILE'}"
    )
    raise PlayerError(f"player {text!r}: no snapshot was imported under this name; {hint}")


def parse_frames(text: str, name: str) -> int:
    """The count in "1.2M", "800k", "3_000_000". Raises: PlayerError that names player `name`."""
    count = _FRAMES.fullmatch(text.replace("_", ""))
    if not count:
        raise PlayerError(
            f"player {name!r}: {text!r} is no number of frames; expected one such as 800k, "
            "1.2M or 3000000"
        )
    return round(float(count[1]) * _UNITS[count[2]])


def _of_member(
    league: League, text: str, population: str, member: str, frames: str | None, *, playable: bool
) -> StoredSnapshot:
    made = list_snapshots(league, population, member)
    if not made and member not in member_names(league, population):
        raise _no_member(league, text, population, member, frames)
    usable = [snapshot for snapshot in made if not (playable and snapshot.weights_removed)]
    if not usable:
        raise PlayerError(
            f"player {text!r}: {member} has no snapshot yet; the first is taken when "
            "training starts"
        )
    if frames is None:
        return usable[-1]
    limit = parse_frames(frames, text)
    below = [snapshot for snapshot in usable if snapshot.record.frames <= limit]
    if not below:
        first = frames_text(usable[0].record.frames)
        raise PlayerError(
            f"player {text!r}: {member} has no snapshot at or below {frames} frames; its "
            f"first with weights is {population}/{member}@{first}"
        )
    meant = [snapshot for snapshot in made if snapshot.record.frames <= limit][-1]
    if playable and meant.weights_removed:
        gone, left = frames_text(meant.record.frames), frames_text(below[-1].record.frames)
        raise PlayerError(
            f"player {text!r}: that is {population}/{member}@{gone}, whose weights were "
            "removed; the nearest before it that still plays is "
            f"{population}/{member}@{left}"
        )
    return below[-1]


def _no_member(
    league: League, text: str, population: str, member: str, frames: str | None
) -> PlayerError:
    """The error for a name without a member; with "best" behind it, a role may have been meant."""
    role = frames == BEST
    known = [*member_names(league, population), *(roles_of(league, population) if role else ())]
    near = difflib.get_close_matches(member, known, n=1)
    hint = (
        f"did you mean {population}/{near[0]}?" if near else f"it has {', '.join(known) or 'none'}"
    )
    kind = "member and no role" if role else "member"
    return PlayerError(f"player {text!r}: population {population} has no {kind} {member!r}; {hint}")


def _best_of_all(league: League, text: str, population: str, word: str) -> StoredSnapshot:
    """The best of a population whose members play one role. Raises: PlayerError."""
    if word != BEST:
        first = _first_member(league, population)
        raise PlayerError(
            f"player {text!r}: after a population only @best is known; frames belong to a "
            f"member, as in {first}@{word or '1M'}"
        )
    roles = roles_of(league, population)
    if len(roles) > 1:
        raise PlayerError(
            f"player {text!r}: members of {population} play {len(roles)} roles, and each has a "
            f"best of its own; expected {best_names_text(league, population)}"
        )
    return _best(league, text, population, None)


def _best(league: League, text: str, population: str, role: str | None) -> StoredSnapshot:
    """The best that plays this role (None: any). Raises: PlayerError."""
    best = best_of_each_role(league, population)
    if (found := next(iter(best.values()), None) if role is None else best.get(role)) is not None:
        return found
    most, whose = most_games(league, population, role)
    so_far = f"{whose} has most, {most}" if most else "none was played"
    instead = f"train on, or name a member: {_first_member(league, population, role)}"
    raise PlayerError(
        f"player {text!r}: no snapshot has {BEST_MIN_GAMES} evaluation games yet "
        f"({so_far}); {instead}"
    )


def _by_id(league: League, text: str, *, playable: bool) -> StoredSnapshot:
    with league.read() as connection:
        matching = snapshots_of(connection, id_prefix=text)
    matching += [
        stored
        for stored in imported_snapshots(league)
        if stored.record.snapshot_id.startswith(text)
    ]
    ids = sorted({snapshot.record.snapshot_id for snapshot in matching})
    if not ids:
        raise PlayerError(f"no snapshot id begins with {text!r}; expected {FORMS}")
    if len(ids) > 1:
        raise PlayerError(
            f"{len(ids)} snapshot ids begin with {text!r} ({_short(ids)}); give more digits"
        )
    usable = [snapshot for snapshot in matching if not (playable and snapshot.weights_removed)]
    if not usable:
        record = matching[0].record
        raise PlayerError(
            f"snapshot {text!r} ({record.member} at {frames_text(record.frames)} frames): "
            "its weights were removed; its games stay in the table"
        )
    return usable[0]


def _short(ids: Sequence[str]) -> str:
    return ", ".join(snapshot_id[:12] for snapshot_id in ids[:3]) + (
        ", ..." if len(ids) > 3 else ""
    )


def _first_member(league: League, population: str, role: str | None = None) -> str:
    rows = [row for row in list_members(league, population) if role in (None, row.role)]
    return f"{population}/{rows[0].name}" if rows else f"{population}/m0"
