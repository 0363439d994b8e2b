"""The history of a population, read from its league, its status and its curves."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from arena.assessment.curve_ends import CurveEnds, read_curve_ends
from arena.assessment.pbt_actions import PbtActions
from arena.assessment.records import MemberFacts, PopulationHistory, StrengthHistory
from arena.assessment.training_warnings import of_start, of_trainer, silent_text
from arena.data.lock import holder
from arena.data.paths import PopulationPaths
from arena.data.status import MemberRow, Moment, RunStatus, age_s, member_state, read_status
from arena.league.database import League
from arena.league.populations import stored_config
from arena.league.summaries import MemberSummary, list_members
from arena.league.supervised import Supervised
from pbt.errors import PbtError

SILENT_S = 60.0
"""A trainer that reported nothing for so long hangs, or has no disk to write to."""


def read_history(
    league: League,
    paths: PopulationPaths,
    row: Supervised,
    strengths: StrengthHistory | None,
    actions: PbtActions,
) -> PopulationHistory:
    """The history of a population. Raises: PlayerError.

    paths      of its files
    row        what the service knows of it
    strengths  of its snapshots, None where they cannot be read
    actions    of PBT
    """
    name, now = row.name, Moment.now()
    status = newest_status(paths)
    state = _state(row, status, paths)
    config = config_in_force(league, paths, name)
    texts, faults = of_start(row, now), _faults(status)
    if status is not None and state == "running" and not status.ended:
        faults += _faults_of_trainer(status, now)
        texts += [text for text in of_trainer(status, now) if text not in faults]
    told = _Told(state, status, read_curve_ends(paths.metrics), actions)
    left = config.get("population", {}).get("left", ())
    return PopulationHistory(
        population=name,
        game=str(config.get("env", {}).get("name", "")),
        state=state,
        failure=_failure(row, state, status),
        faults=tuple(faults),
        warnings=tuple(texts),
        goal_frames=config.get("stop_at_frames"),
        copies=actions.copies,
        mutations=actions.mutations,
        members=tuple(told.facts(one, one.name in left) for one in list_members(league, name)),
        strengths=strengths,
    )


def newest_status(paths: PopulationPaths) -> RunStatus | None:
    """The newest status that a trainer wrote; None where the file is damaged.

    The trainer writes it again every second.
    """
    try:
        return read_status(paths.status)
    except PbtError:
        return None


def _state(row: Supervised, status: RunStatus | None, paths: PopulationPaths) -> str:
    """Its state. A service hears a moment later that a training finished, and none hears that a
    training was killed that it did not start.
    """
    if row.state in ("running", "stopping") and status is not None and status.ended == "finished":
        return "finished"
    if row.revision == 0 and row.state == "running" and holder(paths.lock) is None:
        return "interrupted"
    return row.state


def config_in_force(league: League, paths: PopulationPaths, name: str) -> dict[str, Any]:
    """The config in force; where its file is missing or damaged, the one that it began with."""
    try:
        table: dict[str, Any] = json.loads(paths.config.read_bytes())
    except (FileNotFoundError, ValueError):
        return stored_config(league, name)
    return table


def _failure(row: Supervised, state: str, status: RunStatus | None) -> str:
    """Why its training failed; "" while it has not."""
    if state != "failed":
        return ""
    if row.revision:
        return f"the training failed: {row.message}"
    ended = "" if status is None else status.ended.removeprefix("failed: ")
    return f"the training failed: {ended}" if ended else "the training failed"


def _faults(status: RunStatus | None) -> list[str]:
    """What is wrong with the training as a whole, also after its end."""
    wired = None if status is None else status.wiring
    return [f"wiring fault: {wired}"] if wired else []


def _faults_of_trainer(status: RunStatus, now: Moment) -> list[str]:
    """What is wrong with a training that runs."""
    texts = [status.trouble] if status.trouble else []
    if (silent_s := age_s(status, now, running=True)) > SILENT_S:
        texts.append(silent_text(silent_s))
    return texts


@dataclass(frozen=True, slots=True)
class _Told:
    """What is known of the members of one population."""

    state: str
    status: RunStatus | None
    ends: Mapping[str, CurveEnds]
    actions: PbtActions

    def facts(self, member: MemberSummary, left: bool) -> MemberFacts:
        rows = () if self.status is None else self.status.members
        row = next((one for one in rows if one.name == member.name), None)
        ends = self.ends.get(member.name, CurveEnds(None, None, None))
        return MemberFacts(
            member=member.name,
            role=member.role,
            state="left" if left else self._state(row),
            frames=max(member.frames, 0 if row is None else row.frames),
            updates=0 if row is None else row.updates,
            refused=0 if row is None else row.refused_updates,
            failure="" if row is None else row.failure,
            first_entropy=ends.first_entropy,
            entropy=ends.entropy,
            frames_per_s=ends.frames_per_s,
            last_pbt=self.actions.newest.get(member.name),
        )

    def _state(self, row: MemberRow | None) -> str:
        return "unknown" if row is None else member_state(self.state, row.state)
