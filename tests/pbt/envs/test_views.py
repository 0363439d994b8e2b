"""`env.resize`, `env.grey` and `env.stack`: what seats see, in games of every kind."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pbt.config.game_options import env_table, game_options
from pbt.config.load import config_from_table
from pbt.envs import registry
from pbt.envs.contract import EnvSpec, Game, Overlapping, SeatTurn
from pbt.envs.resizing import AreaResizer, grey
from pbt.envs.spaces import ObservationCodec
from pbt.envs.testing.check import check_game
from pbt.envs.viewed_game import ViewedGame, own_observation, own_roles
from pbt.envs.views import View
from pbt.errors import ConfigError, EnvViewError
from tests.pbt.envs.image_games import FILE, STEPS

SMALL = {"height": 40, "width": 60}
ALL = {"env.resize": [24, 30], "env.grey": True, "env.stack": 3}


def game_spec(function: str) -> EnvSpec:
    return registry.spec(f"{FILE}:{function}", allow_files=True, measured=(True, True))


def made(function: str, **options: Any) -> Game:
    return game_spec(function).make(**SMALL, **options)


def play(game: Game, seed: int) -> list[list[SeatTurn]]:
    """All turns of a game in which every seat plays 1, and images are copied."""
    moments = [game.reset(seed)]
    for turn in moments[-1]:
        turn.observation = copied(turn.observation)
    while any(not turn.over for turn in moments[-1]):
        due = [turn.seat for turn in moments[-1] if not turn.over]
        moments.append(game.step(dict.fromkeys(due, (1,))))
        for turn in moments[-1]:
            turn.observation = copied(turn.observation)
    return moments


def copied(observation: Any) -> Any:
    if isinstance(observation, dict):
        return {key: np.array(part) for key, part in observation.items()}
    return None if observation is None else np.array(observation)


def picture(observation: Any) -> NDArray[Any]:
    image: NDArray[Any] = observation["image"] if isinstance(observation, dict) else observation
    return image


@pytest.mark.parametrize("function", ["gym", "parallel", "turns"])
def test_seats_see_the_newest_images_smaller_grey_and_stacked(function: str) -> None:
    resizer = AreaResizer((40, 60), (24, 30))
    seen: dict[int, list[NDArray[Any]]] = {}
    viewed, plain = made(function, **ALL), made(function)
    for game_seed in (5, 6):
        seen.clear()
        for ours, own in zip(play(viewed, game_seed), play(plain, game_seed), strict=True):
            assert [turn.seat for turn in ours] == [turn.seat for turn in own]
            for turn, raw in zip(ours, own, strict=True):
                assert (turn.rewards, turn.over, turn.tics) == (raw.rewards, raw.over, raw.tics)
                if raw.observation is None:
                    assert turn.observation is None
                    continue
                one = resizer(grey(picture(raw.observation)))
                frames = seen.setdefault(turn.seat, [one] * 3)
                frames.append(one)
                expected = np.concatenate(frames[-3:], axis=2)
                assert np.array_equal(picture(turn.observation), expected)
                assert picture(turn.observation).dtype == np.uint8


@pytest.mark.parametrize(
    ("kind", "options", "shape"),
    [
        ("last", {"env.resize": [30, 24]}, (30, 24, 3)),
        ("last", {"env.grey": True}, (40, 60, 1)),
        ("last", {"env.stack": 4}, (40, 60, 12)),
        ("first", {"env.resize": [30, 24], "env.stack": 2}, (6, 30, 24)),
        ("first", {"env.grey": True}, (1, 40, 60)),
        ("grey", {"env.resize": [30, 24]}, (30, 24)),
        ("grey", {"env.stack": 2}, (40, 60, 2)),
        ("float", {"env.resize": [30, 24], "env.grey": True}, (30, 24, 1)),
    ],
)
def test_the_space_says_what_is_seen(
    kind: str, options: dict[str, Any], shape: tuple[int, ...]
) -> None:
    game = made("gym", kind=kind, **options)
    own = made("gym", kind=kind)
    space, codec = (
        game.roles[0].observation_space,
        ObservationCodec(game.roles[0].observation_space),
    )
    image, step = codec.leaves
    assert image.shape == shape
    assert step == ObservationCodec(own.roles[0].observation_space).leaves[1]
    (turn,) = game.reset(3)
    assert picture(turn.observation).dtype == image.dtype
    assert space.contains({**turn.observation, "step": np.int64(turn.observation["step"])})
    last = {"last": 2, "float": 2, "first": 0}.get(kind)
    if last is not None and "env.grey" not in options and "env.resize" not in options:
        (raw,) = own.reset(3)
        parts = np.split(picture(turn.observation), options["env.stack"], axis=last)
        assert all(np.array_equal(part, picture(raw.observation)) for part in parts)


@pytest.mark.parametrize("function", ["gym", "parallel", "turns"])
def test_a_viewed_game_keeps_the_contract(function: str) -> None:
    spec = game_spec(function)
    report = check_game(
        EnvSpec(
            function,
            lambda: spec.make(**SMALL, **ALL),
            chance=True,
            replayable=True,
            winners=spec.winners,
        ),
        seeds=4,
    )
    assert report.ok, report.problems
    assert report.replayable
    assert report.games == 4


def test_what_the_game_itself_showed_is_kept_for_films() -> None:
    game = made("gym", **ALL)
    (turn,), (raw,) = game.reset(1), made("gym").reset(1)
    assert np.array_equal(picture(own_observation(turn)), picture(raw.observation))
    assert own_observation(raw) is raw.observation
    assert own_roles(game) == made("gym").roles


def test_games_without_these_keys_are_not_wrapped() -> None:
    assert not isinstance(made("gym"), ViewedGame)
    assert not isinstance(made("gym", **{"env.stack": 1}), ViewedGame)


def test_what_a_game_has_beside_the_contract_is_passed_on() -> None:
    game = made("gym")
    begun: list[Any] = []
    game.begin = begun.append  # type: ignore[attr-defined]
    viewed = ViewedGame(game, View(grey=True))
    assert isinstance(viewed, Overlapping)
    viewed.begin({0: (1,)})
    assert begun == [{0: (1,)}]
    assert not isinstance(ViewedGame(made("gym"), View(grey=True)), Overlapping)


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("connect_four", {"env.resize": [84, 84]}, "env.resize = [84, 84]: no seat of this game"),
        ("connect_four", {"env.grey": True, "env.stack": 2}, "env.grey = true, env.stack = 2: no"),
        ("doom", {"env.resize": [40, 64]}, "env.options.height = 40 and env.options.width = 64"),
        ("doom_match", {"env.resize": [40, 64]}, "doom_match makes its images in any size itself"),
    ],
)
def test_games_that_cannot_be_seen_so_are_refused(
    name: str, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(EnvViewError) as refused:
        registry.spec(name).make(**options)
    assert words in str(refused.value)


def test_grey_images_are_not_made_grey() -> None:
    with pytest.raises(EnvViewError, match=r"env\.grey = true: the images .* have no colours"):
        made("gym", kind="grey", **{"env.grey": True})


def test_doom_is_seen_in_grey_and_stacked() -> None:
    game = registry.spec("doom").make(**{"env.grey": True, "env.stack": 4})
    assert ObservationCodec(game.roles[0].observation_space).leaves[0].shape == (72, 128, 4)
    game.close()


def test_an_image_of_another_shape_than_its_space_is_an_error() -> None:
    viewed = made("gym", **{"env.stack": 2})
    seen = {"image": np.zeros((40, 60), np.uint8), "step": 0}
    with pytest.raises(Exception, match=r"leaf image: found an image of shape \(40, 60\)"):
        viewed.seat_view(0).see(seen)  # type: ignore[attr-defined]


def test_the_keys_are_a_part_of_the_games_options_and_come_back() -> None:
    table = {"name": "x", "options": {"a": 1}, "resize": [84, 84], "grey": True, "stack": 4}
    env = config_from_table({"env": table}, "test").env
    options = {"a": 1, "env.resize": [84, 84], "env.grey": True, "env.stack": 4}
    assert env.game_options == options == game_options(env.model_dump(mode="json"))
    assert env_table("x", options) == table
    plain = config_from_table({"env": {"name": "x", "options": {"a": 1}}}, "test").env
    assert plain.game_options == {"a": 1} == game_options(plain.model_dump(mode="json"))


@pytest.mark.parametrize(
    ("env", "words"),
    [
        ({"resize": [84]}, "env.resize = [84]: one number; expected [height, width]"),
        ({"resize": [84, 0]}, "env.resize[1] = 0"),
        ({"stack": 0}, "env.stack = 0"),
        ({"options": {"env.grey": True}}, 'env.options."env.grey": no option of a game'),
    ],
)
def test_wrong_values_are_refused(env: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError) as refused:
        config_from_table({"env": {"name": "cartpole", **env}}, "test")
    assert words in str(refused.value)


def test_the_game_ends_after_its_steps() -> None:
    assert len(play(made("turns", **ALL), 0)) == STEPS + 1
