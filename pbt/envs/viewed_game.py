"""A game that is seen as `env.drop`, `env.resize`, `env.grey` and `env.stack` say."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pbt.envs.contract import Action, EnvSpec, Game, Outcome, Role, SeatTurn
from pbt.envs.views import RoleView, SeatView, View, split_options
from pbt.errors import EnvViewError

# What a game may have beside `Game`, by the protocols of `contract`.
_MORE = (
    *("begin", "answered", "prepare", "longest_wait_s", "remark", "objective_kind"),
    *("shares_rewards", "points_now", "position", "action_name", "machine_problems", "train_at"),
    "next_level",
)


@dataclass(slots=True)
class ViewedTurn(SeatTurn):
    """A turn. own: the observation as the game gave it, valid until the game's next step."""

    own: Any = None


class ViewedGame:
    """A game with other images; everything else is passed on to the wrapped game.

    What seats remember follows from the observations since `reset`, so a game that is replayed by
    its actions is seen the same.

    own_roles  the roles as the game declares them
    Raises: EnvViewError for a game without images, and for grey ones that are to be grey.
    """

    def __init__(self, game: Game, view: View) -> None:
        self._game, self.own_roles = game, game.roles
        self._views = [RoleView(role.observation_space, view) for role in game.roles]
        _check(game, self._views, view)
        self.roles = tuple(
            replace(role, observation_space=seen.space)
            for role, seen in zip(game.roles, self._views, strict=True)
        )
        self.seat_names, self.seat_roles = game.seat_names, game.seat_roles
        self.reward_terms = game.reward_terms
        self._seats = [self.seat_view(role) for role in game.seat_roles]
        for name in _MORE:
            if hasattr(game, name):
                setattr(self, name, getattr(game, name))

    def seat_view(self, role: int) -> SeatView:
        """What a seat of this role sees, for observations of the game's own."""
        return self._views[role].seat()

    def reset(self, seed: int) -> list[SeatTurn]:
        for seat in self._seats:
            seat.begin()
        return self._seen(self._game.reset(seed))

    def step(self, actions: Mapping[int, Action]) -> list[SeatTurn]:
        return self._seen(self._game.step(actions))

    def _seen(self, turns: list[SeatTurn]) -> list[SeatTurn]:
        return [
            ViewedTurn(
                turn.seat,
                None if turn.observation is None else self._seats[turn.seat].see(turn.observation),
                turn.mask,
                turn.rewards,
                turn.terminated,
                turn.truncated,
                turn.tics,
                turn.observation,
            )
            for turn in turns
        ]

    def outcome(self) -> Outcome:
        return self._game.outcome()

    def close(self) -> None:
        self._game.close()


def _check(game: Game, views: list[RoleView], view: View) -> None:
    """Raises: EnvViewError for a view that this game cannot have."""
    if lost := set(view.drop).difference(*(seen.dropped for seen in views)):
        raise EnvViewError(
            f"env.drop: {', '.join(sorted(lost))}: no seat of this game observes that, found "
            f'{_spaces(game)}; expected names of leaves, such as "position" or "sensors/0"'
        )
    if replace(view, drop=()) == View():
        return
    if not any(seen.images for seen in views):
        raise EnvViewError(
            f"{view.words}: no seat of this game sees an image, found {_spaces(game)}; "
            "expected bytes or bounded floats, [height, width, channels] with sides of 24 or more; "
            "leave it out"
        )
    if view.grey and not any(seen.coloured for seen in views):
        raise EnvViewError(
            "env.grey = true: the images of this game have no colours; expected 3 or 4 channels; "
            "leave it out"
        )


def _spaces(game: Game) -> str:
    return ", ".join(dict.fromkeys(str(role.observation_space) for role in game.roles))


def own_roles(game: Game) -> tuple[Role, ...]:
    """The roles as the game declares them, whatever its images are seen as."""
    return game.own_roles if isinstance(game, ViewedGame) else game.roles


def own_observation(turn: SeatTurn) -> Any:
    """The observation as the game gave it."""
    return turn.own if isinstance(turn, ViewedTurn) else turn.observation


def viewed(env: EnvSpec) -> EnvSpec:
    """The game, which also takes the options that `EnvConfig.game_options` adds."""
    make_own: Callable[..., Game] = env.make

    def make(**options: Any) -> Game:
        view, own = split_options(options)
        if view == View():
            return make_own(**own)
        if view.resize is not None and env.own_resize:
            height, width = view.resize
            raise EnvViewError(
                f"env.resize = [{height}, {width}]: {env.name} makes its images in any size "
                f"itself; set {env.own_resize.format(height=height, width=width)} instead"
            )
        game = make_own(**own)
        try:
            return ViewedGame(game, view)
        except BaseException:
            game.close()
            raise

    return replace(env, make=make)
