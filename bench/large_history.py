"""The PBT rounds of a made-up training of any size: members are compared, copied and mutated.

Each member has a true strength that grows, faster with a learning rate near the best one. In every
round some of the weakest copy one of the strongest, with the words of a real verdict.
"""

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from pbt.config.population import PbtConfig
from pbt.population.comparison import Gap
from pbt.population.copy_gate import Candidate, round_level
from pbt.population.pbt_decision import top_count
from pbt.population.pbt_rules import PbtRules
from pbt.population.verdicts import lead_words, standing_words
from pbt.records import Directive, MemberScore, RoundRecord, SnapshotRecord

ROUNDS = 20
GAMES = 600
BEST_RATE = 2e-3
RULES = PbtRules.from_config(PbtConfig(), "win")
COPY_CHANCE = 0.35
OPPONENTS = 9


@dataclass
class _Member:
    name: str
    values: dict[str, float]
    strength: float = 0.0
    generation: int = 0
    rounds: int = 0
    snapshots: list[SnapshotRecord] = field(default_factory=list)


def history(
    start: Mapping[str, Mapping[str, float]], frames: int, seed: int = 1
) -> Iterator[tuple[SnapshotRecord | None, RoundRecord]]:
    """Each round with the snapshot that it copied, None without a copy, in order.

    start   member -> the values that it begins with
    frames  that each member trains in all
    """
    rng = random.Random(seed)
    members = [_Member(name, dict(values)) for name, values in start.items()]
    for turn in range(1, ROUNDS + 1):
        for place, own in enumerate(members):
            at = frames * turn // (ROUNDS + 1) + 13 * place
            rate = math.log(own.values["learning_rate"] / BEST_RATE)
            own.strength += max(0.02, 0.12 - 0.05 * abs(rate)) + rng.gauss(0, 0.04)
            yield _round(own, members, turn, at, rng)


def strength_at(record: RoundRecord) -> float:
    """How strong the member of a round was before it, on a scale of members' mean strengths."""
    (own,) = (score for score in record.scores if score.member == record.member)
    return 0.08 * record.round + math.log(own.objective / (1 - own.objective)) / 2


def _lead(
    donor: MemberScore, own: MemberScore, members: int, turn: int, rng: random.Random
) -> Candidate:
    level = round_level(RULES.copy_significance, members, turn)
    return Candidate(donor, _gap(donor.objective - own.objective, level, rng), level / members, 0.0)


def _round(
    own: _Member, members: Sequence[_Member], turn: int, at: int, rng: random.Random
) -> tuple[SnapshotRecord | None, RoundRecord]:
    mean = math.fsum(one.strength for one in members) / len(members)
    scores = {
        one.name: MemberScore(one.name, GAMES, _rate(one.strength - mean), 0, 9_999)
        for one in members
    }
    ranked = sorted(scores.values(), key=lambda score: -score.objective)
    place = ranked.index(scores[own.name])
    top = top_count(len(ranked), RULES.top_share)
    before = {one.name: dict(one.values) for one in members}
    standing = standing_words(scores[own.name], scores[own.name].objective - 0.5, RULES)
    text = f"rank {place + 1} of {len(ranked)} at {at} frames, {standing}: "
    donor, taken, mutated = None, None, ()
    if place < top:
        text += f"among the top {top}, kept as it is"
    else:
        if place >= len(ranked) - top and len(ranked) > 2:
            lead = _lead(ranked[rng.randrange(top)], scores[own.name], len(members), turn, rng)
            copied = lead.score.member if lead.copied else ""
            donor = next((one for one in members if one.name == copied), None)
            text += lead_words(lead, RULES)
        else:
            text += f"outside the top {top} and the bottom {top}"
        if donor is not None:
            taken = _snapshot(donor, turn, at)
            own.values, own.strength = dict(donor.values), donor.strength
            own.generation += 1
        mutated = _mutate(own, rng)
        changes = [f"{key} {old:.6g} -> {own.values[key]:.6g}" for key, old in mutated]
        text += "; mutates " + ", ".join(changes) if changes else "; nothing mutates"
    own.rounds += 1
    directive = Directive(
        own.name,
        own.rounds,
        donor and donor.name,
        taken and taken.snapshot_id,
        dict(own.values),
        tuple(key for key, _ in mutated),
    )
    rules = RULES.to_mapping()
    everyone = tuple(scores.values())
    return taken, RoundRecord(own.name, turn, at, everyone, before, rules, 7, text, directive)


def _rate(strength: float) -> float:
    return 1 / (1 + math.exp(-2 * strength))


def _gap(ahead: float, level: float, rng: random.Random) -> Gap:
    """A gap that is sure with a chance of its own, so that trees of any size look real."""
    sure = rng.random() < COPY_CHANCE and ahead > 0
    chance = level * 1e-3 if sure else 0.2
    return Gap(ahead, chance, OPPONENTS, max(1e-3, abs(ahead)) / (5.5 if sure else 0.8))


def _snapshot(of: _Member, turn: int, at: int) -> SnapshotRecord:
    """The weights of a donor at this moment. They are frozen once in a round."""
    newest = of.snapshots[-1] if of.snapshots else None
    frames = at + 200
    if newest is not None and newest.frames == frames:
        return newest
    name = sha256(f"{of.name} {turn} {frames}".encode()).hexdigest()
    made = SnapshotRecord(name, of.name, "player", of.generation, turn, frames, "round", None, 9)
    of.snapshots.append(made)
    return made


def _mutate(own: _Member, rng: random.Random) -> tuple[tuple[str, float], ...]:
    """Changes some values; returns each name with the value before."""
    changed = []
    for key, value in own.values.items():
        if rng.random() < RULES.mutation_probability:
            factor = RULES.mutation_factor if rng.random() < 0.5 else 1 / RULES.mutation_factor
            changed.append((key, value))
            own.values[key] = 1 - (1 - value) * factor if key == "adam_beta1" else value * factor
    return tuple(changed)
