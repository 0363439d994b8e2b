"""The members, how PBT changes them, and who plays whom.

These are the sections [population], [members], [pbt] and [matchmaking].
"""

from typing import Annotated, Literal

from pydantic import Field

from pbt.config.learning import HYPERPARAMS, AlgorithmName
from pbt.config.mutable import SHAPING, with_bounds, with_values
from pbt.config.values import (
    Count,
    HundredOrLess,
    MemberName,
    Members,
    PositiveInt,
    Probability,
    RewardWeight,
    Section,
)

PastMode = Literal["uniform", "latest", "pfsp_hard", "pfsp_variance", "elo_gaussian"]
Opponents = Literal["all", "common"]
SignificancePer = Literal["run", "comparison"]


class Joined(Section):
    """A member that came while the others trained.

    role     the role it plays
    weights  what it began with: "" its own first weights; a member ("m0"): its learner as it stood
             then, and its hyperparameters; or a snapshot's id
    """

    role: str = Field(min_length=1)
    weights: Annotated[str, Field(pattern=r"^(|m[0-9]{1,4}|[0-9a-f]{64})$")] = ""


class Began(Section):
    """What a member of a new population begins with, in place of its own first weights.

    weights    whose weights: a player such as "first@best" or "first/m2@1.2M", or a snapshot's id,
               which the stored config has
    player     the name of that snapshot when the population began; it is found out then
    optimizer  with the optimiser's moments and the scale of returns, which only the snapshots have
               that a round of PBT copied
    """

    weights: Annotated[str, Field(min_length=1, max_length=256)]
    player: Annotated[str, Field(max_length=256)] = ""
    optimizer: bool = False


class PopulationConfig(Section):
    """The members of the population, which are called m0, m1, ...

    members  how many there are per role to begin with: a number, or a table role -> number for
             games whose roles differ
    began    members that begin with weights of another one, by name
    joined   members that came later, by name. Numbers go on, and none is used twice; no entry is
             taken back
    left     members that learn no more; no entry is taken back
    """

    members: Members | dict[str, Members] = 4
    began: dict[MemberName, Began] = {}
    joined: dict[MemberName, Joined] = {}
    left: tuple[MemberName, ...] = ()


@with_values(HYPERPARAMS.values())
class ScheduleStep(Section):
    """Values that hold from a point of a member's own clock on. Values not named stay as they are.

    at_frames  that point, in frames
    shaping    as in [learning]; terms not named stay as they are
    """

    at_frames: Count
    shaping: dict[str, RewardWeight] = {}


@with_values(HYPERPARAMS.values())
class MemberOverride(Section):
    """Values of a single member, by its name ("m0"), in place of those of [learning].

    With PBT they are starting values, and PBT goes on from there. Without PBT they hold for the
    whole training.

    algorithm  as in [learning]. PBT ranks and copies members of one algorithm among themselves
    shaping    as in [learning]
    schedule   later values, in the order of frames; `arena lineage PLAYER --export-schedule FILE`
               writes those of a policy's ancestry
    """

    algorithm: AlgorithmName | None = None
    shaping: dict[str, RewardWeight] = {}
    schedule: tuple[ScheduleStep, ...] = ()


@with_bounds((*HYPERPARAMS.values(), SHAPING))
class PbtConfig(Section):
    """Population-based training (Jaderberg et al. 2017; Petrenko et al. 2020, section A.3.1).

    enabled                      hold rounds at all
    spread_start                 each member but m0 begins with values of its own, drawn
                                 log-uniformly between the config's divided by this and times this,
                                 stratified over the members and inside the bounds; 1.0: all begin
                                 with the config's. Values that [members.NAME] sets are not drawn
    period_frames                frames from round to round, on a member's own clock
    warmup_frames                the first round comes at the first multiple of the period at or
                                 after this frame
    top_share                    this fraction of the ranked members keep everything, and losers
                                 copy from them
    copy_gap                     objective distance from which on a loser takes a winner's weights;
                                 None: 0
    copy_ratio                   a winner must also be ahead by this share of its own objective
                                 (Petrenko et al. 2020, section 4.3: half of it)
    min_games                    a member with fewer games is not ranked
    score_games                  the objective is taken over a member's newest games since its last
                                 copy, at most this many
    opponents                    "common": two members are compared on opponents that both met;
                                 "all": by their games against all that they met
    copy_significance            a copy also needs a gap that chance makes with at most this
                                 probability (one-sided); 1.0: any gap of that size. None: 1.0 where
                                 wins are the objective and copy_gap is set, else 0.01
    copy_significance_per        "run": the probability is that of any such copy in the whole run;
                                 "comparison": of each comparison
    copy_rounds                  the probability of a run is spread evenly over this many rounds of
                                 a member, and a tenth of it over all later ones; None: over all
                                 rounds, ever less
    equals_sd                    standard deviation of the distance between members that learn
                                 alike, however many games they play; a significant distance is
                                 more. None: 0.05 where wins are the objective, else 0
    mutation_probability         of each value of a member outside the top, in each round
    mutation_factor              a mutated value is multiplied or divided by this

    Each hyperparameter has bounds, NAME_bounds; where both are equal, PBT leaves the value alone. A
    value whose distance to 1 is mutated in its place, as that of Adam's beta1, has
    one_minus_NAME_bounds.

    """

    enabled: bool = True
    spread_start: Annotated[float, Field(ge=1.0, le=100.0)] = 1.0
    period_frames: PositiveInt = 5_000_000
    warmup_frames: Count = 20_000_000
    top_share: Probability = 0.3
    copy_gap: Annotated[float, Field(ge=0.0)] | None = None
    copy_ratio: Probability = 0.0
    min_games: PositiveInt = 50
    score_games: PositiveInt = 2000
    opponents: Opponents = "common"
    copy_significance: Annotated[float, Field(gt=0.0, le=1.0)] | None = None
    copy_significance_per: SignificancePer = "run"
    copy_rounds: PositiveInt | None = None
    equals_sd: Annotated[float, Field(ge=0.0)] | None = None
    mutation_probability: Probability = 0.15
    mutation_factor: Annotated[float, Field(gt=1.0, le=100.0)] = 1.2


class MatchmakingConfig(Section):
    """Who plays against a learning member: live members, or the past (docs/matchmaking.md).

    past_share   probability that a frozen snapshot takes an opponent's seat
    past_window  it is drawn from this many newest snapshots of the seat's role
    past_mode    which of them. "uniform": each alike. "latest": the newest of each member, whatever
                 the window. "pfsp_hard": those that it loses to, (1 - p)^k. "pfsp_variance": those
                 that it is even with, p (1 - p). "elo_gaussian": those of a similar rating
    pfsp_power   k of "pfsp_hard"
    elo_sigma    width of "elo_gaussian", in expected score
    resident     frozen players whose weights one process keeps; a table waits where more would have
                 to play at once. "auto": room for all there are
    """

    past_share: Probability = 0.2
    past_window: PositiveInt = 10
    past_mode: PastMode = "uniform"
    pfsp_power: HundredOrLess = 2.0
    elo_sigma: HundredOrLess = 1 / 6
    resident: PositiveInt | Literal["auto"] = "auto"
