"""What an edit of a population does, in words, before it is sent and after. Pure.

The terminal, the REST interface and the dashboard say these sentences. Needs no torch.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from arena.data.status import RunStatus
from pbt.config.population import Joined
from pbt.config.resume import (
    MEMBERSHIP,
    OBJECTIVE,
    changes,
    changes_members,
    hyperparameter_of,
    shown,
    takes_live,
)
from pbt.config.schema import RunConfig
from pbt.hyperparams import spec_of
from pbt.population.idleness import LEAST_MEMBERS
from pbt.population.pbt_decision import next_due

WITH_TRAINER = ("starting", "running", "recovering")
SCORES_END = "every member's score begins anew"


@dataclass(frozen=True, slots=True)
class EditStanding:
    """How a population stands when it is edited.

    state        what it does, as the service calls it
    clocks       member -> frames, of the members that have not failed; empty before it trained
    learning     the members that learn
    roles        member -> role of all members that play, and of those that are to join or leave
    hyperparams  member -> name -> value, in force
    """

    state: str
    clocks: Mapping[str, int] = field(default_factory=dict)
    learning: Sequence[str] = ()
    roles: Mapping[str, str] = field(default_factory=dict)
    hyperparams: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


def standing_of(
    state: str,
    status: RunStatus | None,
    roles: Mapping[str, str],
    hyperparams: Mapping[str, Mapping[str, float]],
) -> EditStanding:
    """How a population stands. status: of its newest trainer; the rest: as in `EditStanding`."""
    rows = () if status is None else status.members
    clocks = {row.name: row.frames for row in rows if row.state != "failed"}
    known = {row.name for row in rows}
    # A member that no status names yet is new, and will learn.
    learning = [row.name for row in rows if row.state == "learning"]
    learning += [name for name in roles if name not in known]
    return EditStanding(state, clocks, learning, roles, hyperparams)


def edit_effects(before: RunConfig, after: RunConfig, standing: EditStanding) -> list[str]:
    """What an edit does, one sentence each: when it is in force, then what each change does.

    before  the config with the edits that wait already
    """
    edited = changes(before, after)
    if not edited:
        return ["nothing changes: every value is as it was"]
    told = [_when(before, after, standing.state)]
    told += membership_effects(before, after, standing)
    for key, (old, new) in edited.items():
        if not _within(key, MEMBERSHIP):
            effect = effect_of(key, before, after, standing)
            told.append(f"{key} {shown(old)} -> {shown(new)}" + f": {effect}" * bool(effect))
    return told


def resumed_effects(before: RunConfig, after: RunConfig, standing: EditStanding) -> list[str]:
    """What the edits do with which a training is resumed by hand, beside their values."""
    effects = {
        key: effect_of(key, before, after, standing)
        for key in changes(before, after)
        if not _within(key, MEMBERSHIP)
    }
    return membership_effects(before, after, standing) + [
        f"{key}: {effect}" for key, effect in effects.items() if effect and key != OBJECTIVE
    ]


def effect_of(key: str, before: RunConfig, after: RunConfig, standing: EditStanding) -> str:
    """What the change of one value does, in words; "" where there is no more to say.

    key: dotted, and none of a member that joins or leaves
    """
    if key == OBJECTIVE:
        return SCORES_END
    if key == "stop_at_frames":
        return _of_stop(before, after, standing)
    if (name := hyperparameter_of(key)) is not None:
        return _of_hyperparameter(name, after, standing)
    if key.startswith("pbt."):
        return _of_pbt(key, before, after, standing)
    return _of_shares(key, before, after, standing) or _of_section(key)


# --- when -----------------------------------------------------------------------------------------


def _when(before: RunConfig, after: RunConfig, state: str) -> str:
    if state == "created":
        return "its first start takes it"
    if state not in WITH_TRAINER:
        return "its next start takes it"
    if not takes_live(before, after):
        return (
            "its trainer saves, and starts again with the new values; what was learned and played "
            "stays"
        )
    if changes_members(before, after):
        return (
            "its trainer saves, and trains on with the changed members within seconds; the other "
            "members keep clocks, values and scores"
        )
    return "its trainer takes it at its next rest, without a new start"


# --- clocks ---------------------------------------------------------------------------------------


def _of_stop(before: RunConfig, after: RunConfig, standing: EditStanding) -> str:
    target, least = after.stop_at_frames, min(standing.clocks.values(), default=0)
    if standing.clocks and least >= target:
        if standing.state == "finished":
            return f"every member has trained {target:,} frames already"
        when = "the population finishes" if standing.state in WITH_TRAINER else ""
        return (
            f"every member has trained {target:,} frames already: "
            f"{when or 'it finishes at its next start'}"
        )
    name = min(standing.clocks, key=lambda member: standing.clocks[member], default="each member")
    left, were = target - least, max(0, before.stop_at_frames - least)
    words = f"{name} has {left:,} frames to go rather than {were:,}"
    if standing.state == "finished":
        words += "; it is finished; start it to train on"
    if after.learning.anneal_to < 1.0:
        words += "; values anneal towards the new end"
    return words


def _of_pbt(key: str, before: RunConfig, after: RunConfig, standing: EditStanding) -> str:
    if key == "pbt.enabled":
        return (
            f"rounds are held from now on: {_next_round(after, standing)}"
            if after.pbt.enabled
            else "no more rounds are held: members keep their values, and none copies another"
        )
    if not after.pbt.enabled:
        return "no round is held while pbt.enabled = false"
    if key in ("pbt.period_frames", "pbt.warmup_frames"):
        now, was = _next_round(after, standing), _next_round(before, standing)
        return now if now == was else f"{now}, in place of {was}; {_rounds_left(after, standing)}"
    return "rounds from now on follow the new rule; those that were decided stay"


def _next_round(config: RunConfig, standing: EditStanding) -> str:
    """When the first of the members has its next round."""
    pbt = config.pbt
    if not standing.clocks:
        due = next_due(0, pbt.period_frames, pbt.warmup_frames)
        return f"the first round at {due:,} frames of each member"
    waits = {
        name: next_due(frames, pbt.period_frames, pbt.warmup_frames) - frames
        for name, frames in standing.clocks.items()
    }
    soonest = min(waits, key=lambda name: (waits[name], name))
    return f"the next round after {waits[soonest]:,} frames ({soonest})"


def _rounds_left(config: RunConfig, standing: EditStanding) -> str:
    """How many rounds the member that is furthest back still has before its end."""
    pbt, least = config.pbt, min(standing.clocks.values(), default=0)
    due = next_due(least, pbt.period_frames, pbt.warmup_frames)
    # A round that falls on the end itself is not held.
    left = max(0, -(-(config.stop_at_frames - due) // pbt.period_frames))
    return f"{left:,} {'round' if left == 1 else 'rounds'} until the end of a member"


# --- values and shares ----------------------------------------------------------------------------


def _of_hyperparameter(name: str, after: RunConfig, standing: EditStanding) -> str:
    found = [values[name] for values in standing.hyperparams.values() if name in values]
    ends = "; PBT goes on from there" * after.pbt.enabled
    algorithm = spec_of(name).mark.algorithm
    members = "every member" if algorithm is None else f'every member that learns by "{algorithm}"'
    if not found:
        return f"{members} begins with it{ends}"
    low, high = min(found), max(found)
    now = f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"
    return f"{members} gets this value in place of its own ({now} now){ends}"


def _of_shares(key: str, before: RunConfig, after: RunConfig, standing: EditStanding) -> str:
    if key == "evaluation.share":
        old, new = before.evaluation.share, after.evaluation.share
        return (
            f"{percent(new)} of all games are evaluation games rather than {percent(old)}; "
            f"{percent(1 - new)} are left to learn from rather than {percent(1 - old)}"
        )
    if key == "matchmaking.past_share":
        old, new = before.matchmaking.past_share, after.matchmaking.past_share
        return (
            f"frozen snapshots take {percent(new)} of the opponents' seats rather than "
            f"{percent(old)}"
        )
    if key == "snapshots.every_frames":
        now, was = (_next_snapshot(config, standing) for config in (after, before))
        return f"the next snapshot after {now:,} frames, in place of {was:,}"
    if key in ("snapshots.keep_newest", "snapshots.thinned_every"):
        name = key.partition(".")[2]
        fewer = (getattr(after.snapshots, name) < getattr(before.snapshots, name)) == (
            name == "keep_newest"
        )
        return (
            "more old snapshots lose their weights, for good; their games and ratings stay"
            if fewer
            else "fewer old snapshots lose their weights; those that are gone stay gone"
        )
    return ""


def _next_snapshot(config: RunConfig, standing: EditStanding) -> int:
    """Frames until the first of the members has its next snapshot."""
    every = config.snapshots.every_frames
    return min(
        (next_due(frames, every) - frames for frames in standing.clocks.values()), default=every
    )


def _of_section(key: str) -> str:
    match key.partition(".")[0]:
        case "learning":
            return "updates from then on are made with it"
        case "matchmaking" | "evaluation" | "env":
            return "games that begin from then on are played with it"
        case "runtime" | "checkpoints":
            return "what is learned from a game does not change"
        case _:
            return ""


# --- members --------------------------------------------------------------------------------------


def membership_effects(before: RunConfig, after: RunConfig, standing: EditStanding) -> list[str]:
    """What becomes of the members that join and leave, and what the others learn from then."""
    joining = {
        name: one
        for name, one in after.population.joined.items()
        if name not in before.population.joined
    }
    leaving = [name for name in after.population.left if name not in before.population.left]
    told = [_joining(name, one) for name, one in joining.items()]
    told += [_leaving(name, standing) for name in leaving]
    roles = [one.role for one in joining.values()]
    roles += [standing.roles[name] for name in leaving if name in standing.roles]
    for role in dict.fromkeys(roles):
        told += _shared(role, joining, leaving, standing, pbt=after.pbt.enabled)
    return told


def _joining(name: str, one: Joined) -> str:
    weights = (
        f"a copy of {one.weights}: its weights, moments and values as they stand then"
        if one.weights.startswith("m")
        else f"the weights of snapshot {one.weights[:12]}"
        if one.weights
        else "new weights"
    )
    return f"{name} joins as {one.role} with {weights}; its clock begins at 0 frames"


def _leaving(name: str, standing: EditStanding) -> str:
    at = f" at {standing.clocks[name]:,} frames" if name in standing.clocks else ""
    return (
        f"{name} leaves{at} for good: its last snapshot stays among the opponents, and its games, "
        "rounds and ratings stay; games in which it sits are not counted"
    )


def _shared(
    role: str,
    joining: Mapping[str, Joined],
    leaving: Sequence[str],
    standing: EditStanding,
    *,
    pbt: bool,
) -> list[str]:
    """How the members of a role share what there is to learn from, before and after."""
    plays = [name for name, of in standing.roles.items() if of == role]
    new = [name for name, one in joining.items() if one.role == role]
    was = [name for name in plays if name not in new]
    now = [name for name in [*was, *new] if name not in leaving]
    learn = [name for name in was if name in standing.learning]
    after = [name for name in now if name in standing.learning or name in new]
    told = [f"{len(was)} -> {len(now)} members play {role}"]
    if learn and after and len(learn) != len(after):
        pace = "faster" if len(after) < len(learn) else "more slowly"
        told[0] += (
            f"; each that learns gets {percent(1 / len(after))} of its frames rather than "
            f"{percent(1 / len(learn))}, so clocks go on {pace}"
        )
    if pbt and len(now) < LEAST_MEMBERS <= len(was):
        told.append(f"PBT copies nothing then: it copies among {LEAST_MEMBERS} or more members")
    if pbt and len(was) < LEAST_MEMBERS <= len(now):
        told.append(f"PBT may copy then: {LEAST_MEMBERS} or more members play {role}")
    return told


def percent(share: float) -> str:
    """0.1 -> "10 %"."""
    return f"{100 * share:.3g} %"


def _within(key: str, sections: Sequence[str]) -> bool:
    return any(key == section or key.startswith(f"{section}.") for section in sections)
