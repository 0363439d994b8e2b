"""Games of OpenSpiel (Lanctot et al. 2019) by name, such as "openspiel:leduc_poker".

`env.options` are the game's own parameters. OpenSpiel is an optional dependency. Seats see
information-state tensors, which remember all that they saw and did; where a game has none,
observation tensors. Chance is drawn from the seed of the game.
"""

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from pbt.envs.adapters.extras import extra_of
from pbt.envs.adapters.openspiel_in_c import in_c
from pbt.envs.adapters.seating import RETURN_DIGITS
from pbt.envs.contract import EnvSpec, Game, Outcome, Role, SeatTurn, ranking_from_scores
from pbt.envs.names import OPENSPIEL
from pbt.errors import EnvError, EnvNameError, EnvOptionsError
from pbt.objective import ObjectiveKind
from pbt.seeding import generator

TURN_BASED = "turn_based"
OBJECTIVES: Mapping[str, ObjectiveKind] = {
    # Utilities are card points divided by 120, so they are graded although none is above 1.
    "skat": "margin",
    # Each loser pays 1 to the one winner, but the bounds are those of four players for any number.
    "maedn": "win",
}
"""Games whose utility bounds do not tell what they are worth, by OpenSpiel's short name."""


def openspiel_spec(name: str) -> EnvSpec:
    """The game called "openspiel:NAME".

    Raises: EnvNameError for a name that OpenSpiel does not have, EnvError where it is not
    installed.
    """
    spiel, short = _pyspiel(name), name.removeprefix(OPENSPIEL)
    if short not in spiel.registered_names():
        raise EnvNameError(_unknown(name, short, spiel.registered_names()))
    kind = next(game for game in spiel.registered_games() if game.short_name == short)
    modes = spiel.GameType.ChanceMode

    def make(**options: Any) -> Game:
        game = OpenSpielGame(_load(spiel, kind, name, options), name)
        return game if options else in_c(name, game)

    return EnvSpec(
        name=name,
        make=make,
        chance=kind.chance_mode != modes.DETERMINISTIC,
        # SAMPLED_STOCHASTIC: the game draws from a stream of its own, which no seed reaches.
        replayable=kind.chance_mode != modes.SAMPLED_STOCHASTIC,
        winners="the ranking of OpenSpiel's returns",
        description=f"{kind.long_name} (OpenSpiel)",
        paths=_paths,
    )


def openspiel_game(name: str, **options: Any) -> "OpenSpielGame":
    """A table of the game called "openspiel:NAME" that OpenSpiel itself plays."""
    spiel = _pyspiel(name)
    game = spiel.load_game(name.removeprefix(OPENSPIEL), options)
    return OpenSpielGame(game, name)


class OpenSpielGame:
    """A sequential game of OpenSpiel, which is `Readable`, `Declaring` and `Sharing`.

    game   a `pyspiel.Game`
    name   used in error messages
    rules  that game, for programs that walk its tree
    Raises: EnvError for games that show no tensor.
    """

    roles: tuple[Role, ...]
    reward_terms: tuple[str, ...] = ("reward",)

    def __init__(self, game: Any, name: str) -> None:
        kind = game.get_type()
        if kind.provides_information_state_tensor:
            self._sees = "information_state_tensor"
        elif kind.provides_observation_tensor:
            self._sees = "observation_tensor"
        else:
            raise EnvError(
                f"env {name!r} describes its states in words only; expected a game with an "
                "information-state or observation tensor"
            )
        self._shape = tuple(getattr(game, f"{self._sees}_shape")())
        self._game = self.rules = game
        self._open = kind.information == kind.Information.PERFECT_INFORMATION
        self._utility = kind.utility
        self._name = kind.short_name
        self._seats = game.num_players()
        self.seat_names = tuple(f"player_{seat}" for seat in range(self._seats))
        self.seat_roles = (0,) * self._seats
        sees = spaces.Box(-np.inf, np.inf, self._shape, np.float32)
        acts = spaces.Discrete(game.num_distinct_actions())
        self.roles = (Role("player", sees, acts, masked=True),)

    def reset(self, seed: int) -> list[SeatTurn]:
        """Start a game. Chance moves are drawn from `seed`, in their order."""
        self._state = self._game.new_initial_state()
        self._rng = generator(seed, "openspiel")
        self._acted = [False] * self._seats
        self._paid = [0.0] * self._seats
        return self._turns()

    def step(self, actions: Mapping[int, tuple[int, ...]]) -> list[SeatTurn]:
        """Act for the one seat that is due."""
        ((seat, (action,)),) = actions.items()
        self._state.apply_action(action)
        self._acted[seat] = True
        return self._turns()

    def _turns(self) -> list[SeatTurn]:
        state = self._state
        while state.is_chance_node():
            state.apply_action(drawn(state.chance_outcomes(), self._rng.random()))
        if state.is_terminal():
            every_action = np.ones(self._game.num_distinct_actions(), np.bool_)
            return [self._turn(seat, None, every_action, over=True) for seat in range(self._seats)]
        seat = state.current_player()
        observation = np.asarray(getattr(state, self._sees)(seat), np.float32).reshape(self._shape)
        return [self._turn(seat, observation, np.asarray(state.legal_actions_mask(seat), np.bool_))]

    def _turn(
        self,
        seat: int,
        seen: NDArray[np.float32] | None,
        mask: NDArray[np.bool_],
        *,
        over: bool = False,
    ) -> SeatTurn:
        total = self._state.player_return(seat)
        reward, self._paid[seat] = total - self._paid[seat], total
        return SeatTurn(seat, seen, mask, [reward], terminated=over, tics=int(self._acted[seat]))

    def outcome(self) -> Outcome:
        return Outcome(
            ranking_from_scores([round(total, RETURN_DIGITS) for total in self._state.returns()])
        )

    @property
    def objective_kind(self) -> ObjectiveKind:
        """By the kind of utility and its bounds.

        Where no player can lose more than 1, a game is won, lost or drawn: with n players the
        winner gains 1, or 1 from each of the others. Else it is a margin.
        """
        if self._name in OBJECTIVES:
            return OBJECTIVES[self._name]
        if self._utility.name != "ZERO_SUM":
            return "return"
        decided = self._game.min_utility() >= -1.0 and self._game.max_utility() <= self._seats - 1
        return "win" if decided else "margin"

    def shares_rewards(self) -> bool:
        """Whether OpenSpiel says so of the game."""
        return bool(self._utility.name == "IDENTICAL")

    def position(self) -> str | None:
        """OpenSpiel's own text; None where seats hide something from each other."""
        return str(self._state).rstrip("\n") if self._open else None

    def action_name(self, seat: int, action: tuple[int, ...]) -> str:
        """OpenSpiel's own name of the action."""
        return str(self._state.action_to_string(seat, action[0]))

    def close(self) -> None:
        """Nothing is held."""


def drawn(outcomes: Sequence[tuple[int, float]], uniform: float) -> int:
    """The outcome at `uniform` of the cumulative probability.

    An outcome with probability 0 is never drawn.
    """
    possible = [(action, probability) for action, probability in outcomes if probability > 0]
    for action, probability in possible:
        uniform -= probability
        if uniform < 0:
            return action
    return possible[-1][0]


def _pyspiel(name: str) -> Any:
    with extra_of(name, "OpenSpiel", "pyspiel", "openspiel"):
        import pyspiel
    return pyspiel


def _load(spiel: Any, kind: Any, name: str, options: Mapping[str, Any]) -> Any:
    specification, dynamics = kind.parameter_specification, spiel.GameType.Dynamics
    parameters = {key: value for key, value in options.items() if key != TURN_BASED}
    if wrong := [
        f"{key}: no parameter of {name}; it has {', '.join(sorted(specification)) or 'none'}"
        for key in parameters
        if key not in specification
    ]:
        raise EnvOptionsError(wrong)
    if kind.dynamics == dynamics.MEAN_FIELD:
        raise EnvError(
            f"env {name!r} is a mean-field game, which seats a crowd; expected a game of "
            "single players"
        )
    if kind.dynamics == dynamics.SIMULTANEOUS and options.get(TURN_BASED) is not True:
        raise EnvError(
            f"env {name!r}: all of its players move at once; expected a game of turns; "
            f"env.options.{TURN_BASED} = true lets them choose one after "
            "the other, each without seeing what the others chose"
        )
    try:
        load = spiel.load_game_as_turn_based if options.get(TURN_BASED) else spiel.load_game
        return load(kind.short_name, parameters)
    except (spiel.SpielError, TypeError) as error:
        raise EnvOptionsError(
            [f"{dict(parameters)}: {name} does not take these: {str(error).strip()}"]
        ) from error


def _unknown(name: str, short: str, known: Sequence[str]) -> str:
    base, bracket, _ = short.partition("(")
    if bracket and base in known:
        return (
            f"env {name!r}: parameters do not belong to the name; expected "
            f"{OPENSPIEL}{base}, with the parameters in env.options"
        )
    close = difflib.get_close_matches(short, known, n=3, cutoff=0.5)
    hint = (
        f"did you mean {' or '.join(repr(OPENSPIEL + match) for match in close)}?"
        if close
        else "pyspiel.registered_names() lists them"
    )
    return f"env {name!r}: OpenSpiel has no game {short!r}; {hint}"


def _paths(options: Mapping[str, Any]) -> list[str]:
    """Names of parameters that are paths.

    These are parameters such as `filename`, also inside a game that is given as another's
    parameter.
    """
    return [
        key
        for key, value in options.items()
        if "file" in key.lower() or "file" in str(value).lower()
    ]
