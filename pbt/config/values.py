"""Value types: the bounded numbers and words of which the config's sections are made."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Probability = Annotated[float, Field(ge=0.0, le=1.0)]
# JSON keeps every whole number exactly up to this one.
LARGEST = 2**53
PositiveInt = Annotated[int, Field(ge=1, le=LARGEST)]
Count = Annotated[int, Field(ge=0, le=LARGEST)]
PositiveFloat = Annotated[float, Field(gt=0.0)]
# What is larger is a typing error: with Adam a step is about as long as its rate, and the losses
# that coefficients weigh are around 1.
LearningRate = Annotated[float, Field(ge=0.0, le=1.0)]
Coefficient = Annotated[float, Field(ge=0.0, le=100.0)]
OneOrLess = Annotated[float, Field(gt=0.0, le=1.0)]
HundredOrLess = Annotated[float, Field(gt=0.0, le=100.0)]
# Rewards are at most 1e9, so that these bring any game's rewards to 1.
RewardScale = Annotated[float, Field(gt=0.0, le=1e12)]
RewardWeight = Annotated[float, Field(ge=-1e12, le=1e12)]
Ratio = Annotated[float, Field(gt=0.0, le=1e6)]
# Three years. The clocks of the system do not count much further.
Seconds = Annotated[float, Field(gt=0.0, le=1e8)]
# These bounds are beyond what any machine holds. A larger number is a typing error, and is refused
# before it takes all memory.
Members = Annotated[int, Field(ge=1, le=1000)]
Tables = Annotated[int, Field(ge=1, le=1_000_000)]
Width = Annotated[int, Field(ge=1, le=65_536)]
Processes = Annotated[int, Field(ge=1, le=1024)]
Plies = Annotated[int, Field(ge=0, le=1000)]
Side = Annotated[int, Field(ge=1, le=4096)]
LAYERS = 100
Device = Annotated[str, Field(pattern=r"^(auto|cpu|cuda:\d+)$")]
MemberName = Annotated[str, Field(pattern=r"^m(0|[1-9][0-9]{0,3})$")]


class Section(BaseModel):
    """A section of the config. Unknown keys are refused, and values do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
