"""One policy's network: encoders -> hidden layers -> optional recurrent core -> heads.

Measurements may go through hidden layers of their own, which join the others in front of the core.
The heads are those of the actions and the value. `act` and `unroll` are one computation in one
precision: acting step by step and unrolling the same rows give equal log-probabilities, up to
rounding.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from pbt.config.learning import ModelConfig
from pbt.models.acting import ActingRule, Outputs, Sampled
from pbt.models.activations import ACTIVATIONS
from pbt.models.convolutions import activation_of
from pbt.models.cores import new_core
from pbt.models.dense import DenseLayers
from pbt.models.distributions import Distribution, distribution, masked_outputs
from pbt.models.encoders import ConvEncoder, ObservationEncoder, blank
from pbt.models.products import LEAST_ROWS, padded
from pbt.models.recurrent import RecurrentCore
from pbt.transport.slab import RoleLayout


class ActOutput(NamedTuple):
    """What acting gives for N agents.

    actions  [N, W], of the spec's type
    columns  what the rule keeps of them, by name: [N, ...] float32
    state    [N, S] float32, after this step
    """

    actions: Tensor
    columns: dict[str, Tensor]
    state: Tensor

    def named(self) -> dict[str, Tensor]:
        """All of it by name, the columns among the rest."""
        return {"actions": self.actions, **self.columns, "state": self.state}


class PolicyModel(nn.Module):
    """The networks of one member.

    `layout` says what it sees and does; its `state_size` field is not read, since the config
    decides. `heads` is one linear layer: rows [0, O) are what `distribution` reads, row O is the
    value. Where actions have numbers, `log_deviations`, [numbers], are parameters as well.
    """

    def __init__(
        self,
        layout: RoleLayout,
        config: ModelConfig,
        dtype: torch.dtype = torch.float32,
        rule: ActingRule | None = None,
    ) -> None:
        """A model whose weights are to be set by `initialize`.

        dtype  of the products in front of the heads; weights, memory, heads and everything behind
               them are float32
        rule   how it acts; None: it draws actions from the policy
        """
        super().__init__()
        self.dtype = dtype
        self.rule: ActingRule = Sampled() if rule is None else rule
        self.actions = layout.actions
        self._activation = ACTIVATIONS[activation_of(config, layout.leaves)]
        self._policy_gain = config.policy_gain
        self.encoder = ObservationEncoder(layout.leaves, config, dtype)
        widths = (self.encoder.features, *config.hidden)
        self.hidden = DenseLayers(widths, self._activation, dtype)
        own = self.encoder.measured_features
        own_widths = (own, *config.measurement_hidden) if own else (0,)
        self._measures = own > 0
        self.measurements = DenseLayers(own_widths, self._activation, dtype)
        joined = widths[-1] + own_widths[-1]
        self.core = new_core(config, joined, dtype)
        self.state_size = 0 if self.core is None else self.core.state_size
        layers = *config.hidden, *own_widths[1:], config.memory_size
        self._multiple = 1 if all(width % LEAST_ROWS == 0 for width in layers) else LEAST_ROWS
        self.heads = blank(nn.Linear, config.memory_size or joined, self.actions.outputs + 1)
        # Heads right behind an image read its features as they lie in memory: their weights are
        # laid out for it instead of all features.
        directly = not config.hidden and self.core is None
        self._image_features = self.encoder.image_features if directly else None
        self._packed_heads: Tensor | None = None
        numbers = len(self.actions.numbers)
        self.log_deviations = nn.Parameter(torch.empty(numbers)) if numbers else None

    def act(
        self,
        observations: Mapping[str, Tensor],
        mask: Tensor,
        episode_start: Tensor,
        state: Tensor,
        uniforms: Tensor,
        greedy: bool = False,
    ) -> ActOutput:
        """Choose actions for N agents. The caller holds torch.inference_mode().

        observations   leaf name -> [N, *shape]
        mask           [N, mask_size] bool
        episode_start  [N] bool; clears the state first
        state          [N, S] float32, the memory of `core`
        uniforms       [N, W + the rule's noise] float64 in [0, 1), the only randomness
        greedy         take the best action instead
        """
        count, features = len(mask), self._features(observations, enough=self._padded)
        if self.core is not None:
            starts, state = self._padded(episode_start), self._padded(state)
            state = self.core.step(features, starts, state)
            features, state = self.core.output(state), state[:count]
        said = self._said(features)[:count]
        return self._chosen(said, mask, state, uniforms, greedy=greedy)

    def _padded(self, rows: Tensor) -> Tensor:
        return padded(rows, self._multiple)

    def _said(self, features: Tensor) -> Tensor:
        """The output of the heads, [N, O + 1]."""
        weight = self._laid_out() if self._packed_heads is None else self._packed_heads
        return linear(features, weight, self.heads.bias)

    def _laid_out(self) -> Tensor:
        """The weights of the heads in the order of the features that come to them."""
        weight, form = self.heads.weight, self._image_features
        if form is None:
            return weight
        return weight.view(len(weight), *form).transpose(1, 2).flatten(1)

    def _chosen(
        self, said: Tensor, mask: Tensor, state: Tensor, uniforms: Tensor, *, greedy: bool
    ) -> ActOutput:
        outputs = Outputs(masked_outputs(self.actions, said[:, :-1], mask), said[:, -1], mask)
        chosen = (
            self.rule.best(self, outputs) if greedy else self.rule.choose(self, outputs, uniforms)
        )
        return ActOutput(chosen.actions, chosen.columns, state)

    @property
    def acts_with_others(self) -> bool:
        """Whether `act_together` takes it: behind the heads nothing depends on the model."""
        return self.core is None and self.log_deviations is None and type(self.rule) is Sampled

    def unroll(
        self,
        observations: Mapping[str, Tensor],
        mask: Tensor,
        episode_start: Tensor,
        initial_state: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """What `distribution` reads, [T+1, B, O], and values, [T+1, B], of all rows of B slots.

        Both are float32.

        observations   leaf name -> [T+1, B, *shape]
        mask           [T+1, B, mask_size] bool
        episode_start  [T+1, B] bool
        initial_state  [B, S] before row 0
        """
        rows, slots = episode_start.shape
        features = self._features({name: leaf.flatten(0, 1) for name, leaf in observations.items()})
        if self.core is not None:
            features = self.core.unroll(
                features.view(rows, slots, -1), episode_start, initial_state
            ).flatten(0, 1)
        out = self._said(features).view(rows, slots, -1)
        return masked_outputs(self.actions, out[..., :-1], mask), out[..., -1]

    def distribution(self, outputs: Tensor) -> Distribution:
        """The distribution of actions by what `unroll` gives. outputs: [..., O]."""
        return distribution(self.actions, outputs, self.log_deviations)

    def _features(
        self, observations: Mapping[str, Tensor], enough: Callable[[Tensor], Tensor] | None = None
    ) -> Tensor:
        """The features of N rows, or of as many as `enough` makes of what the encoder gives."""
        rows = enough or (lambda encoded: encoded)
        encoded = self.encoder(observations, as_they_lie=self._image_features is not None)
        features = self.hidden.through(rows(encoded))
        if self._measures:
            own = self.measurements.through(rows(self.encoder.measured(observations)))
            features = torch.cat([features, own], 1)
        return features if self.core is not None else features.float()

    def fix_dtype(self) -> None:
        """Keep the weights in the dtype that they are computed with.

        For a model that only acts and is refreshed now and then, with `pack` after it.
        """
        for part in self.encoder.parts:
            if isinstance(part, ConvEncoder):
                part.fix_dtype()
        self.hidden.to(self.dtype)
        self.measurements.to(self.dtype)
        if self.core is not None:
            self.core.to(self.dtype)

    def pack(self) -> None:
        """Lay the weights of `fix_dtype` out for `act`, after they were changed or moved.

        From then on `act` does not see changes of them, nor of the statistics that images are
        normalised by.
        """
        for part in self.encoder.parts:
            if isinstance(part, ConvEncoder):
                part.pack()
        self.hidden.pack()
        self.measurements.pack()
        if self.core is not None:
            self.core.pack()
        if self._image_features is not None:
            self._packed_heads = self._laid_out().detach()

    def keep_packed(self) -> None:
        """Free the weights that `pack` has laid out anew, for a policy that will not change.

        From then on only `act` works.
        """
        self.hidden.keep_packed()
        self.measurements.keep_packed()
        if self.core is not None:
            self.core.keep_packed()

    def initialize(self, seed: int) -> None:
        """Set orthogonal weights and biases that depend on nothing but the seed.

        The global random state is not touched.
        """
        generator = torch.Generator().manual_seed(seed)
        gain = nn.init.calculate_gain("tanh" if self._activation is torch.tanh_ else "relu")
        for module in self.modules():
            if isinstance(module, RecurrentCore):
                module.initialize(generator)
            elif isinstance(module, nn.Linear | nn.Conv2d) and module is not self.heads:
                nn.init.orthogonal_(module.weight, gain, generator)
                assert module.bias is not None
                nn.init.zeros_(module.bias)
        # A small gain makes actions almost uniform at the start (Andrychowicz et al. 2021, "What
        # matters in on-policy RL").
        nn.init.orthogonal_(self.heads.weight[:-1], self._policy_gain, generator)
        nn.init.orthogonal_(self.heads.weight[-1:], 1.0, generator)
        nn.init.zeros_(self.heads.bias)
        if self.log_deviations is not None:
            nn.init.zeros_(self.log_deviations)


def act_together(
    models: Sequence[PolicyModel],
    counts: Sequence[int],
    observations: Mapping[str, Tensor],
    mask: Tensor,
    uniforms: Tensor,
    *,
    greedy: bool = False,
) -> ActOutput:
    """`PolicyModel.act` of several models of one role: the same bits, in fewer calls of torch.

    models  each of which `acts_with_others`
    counts  of agents of each model; the agents of all follow one another, N together
    """
    said, begins = [], 0
    for model, count in zip(models, counts, strict=True):
        own = {name: leaf[begins : begins + count] for name, leaf in observations.items()}
        said.append(model._said(model._features(own, enough=model._padded))[:count])
        begins += count
    state = torch.zeros(len(mask), 0)
    return models[0]._chosen(torch.cat(said), mask, state, uniforms, greedy=greedy)


def build_model(
    layout: RoleLayout,
    config: ModelConfig,
    seed: int,
    dtype: torch.dtype = torch.float32,
    rule: ActingRule | None = None,
) -> PolicyModel:
    """A fresh model. Its weights are a function of (layout, config, seed).

    Raises: ConfigError when the config does not fit the observation.
    """
    model = PolicyModel(layout, config, dtype, rule)
    model.initialize(seed)
    return model
