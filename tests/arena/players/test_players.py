"""Names of players, and players that are loaded outside a match."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pettingzoo.classic import connect_four_v3

from arena.data.paths import league_path, population_paths
from arena.league.database import open_league
from arena.league.stored_snapshots import list_snapshots
from arena.matches.play import play_match
from arena.players.load import load_player
from arena.players.resolve import _check_one_game, resolve_players, scripted_names
from pbt.envs.actions import GamePacking
from pbt.envs.registry import spec
from pbt.errors import EnvError, EnvNameError, PlayerError, SnapshotError
from pbt.records import PlayerRef
from tests.arena.tiny_populations import CONNECT_FOUR, TWO_ROLES, UNRATED, train, with_memory
from tests.pbt.models.memories import MEMORIES


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    train(folder, "demo", CONNECT_FOUR)
    train(folder, "unrated", UNRATED)
    train(folder, "roles", TWO_ROLES)
    return folder


def snapshots(data: Path, population: str, member: str) -> list[Any]:
    with open_league(league_path(data), read_only=True) as league:
        return [stored.record for stored in list_snapshots(league, population, member)]


# --- names ----------------------------------------------------------------------------------------


def test_a_member_is_its_newest_snapshot(data: Path) -> None:
    env, (player,) = resolve_players(["demo/m1"], data)
    newest = snapshots(data, "demo", "m1")[-1]
    assert env.name == player.env_name == "connect_four"
    assert player.ref == PlayerRef("snapshot", newest.snapshot_id)
    assert (player.population, player.member, player.role, player.frames) == (
        "demo",
        "m1",
        "player",
        newest.frames,
    )


@pytest.mark.parametrize("text", ["demo/m1@0.9k", "demo/m1@900", "demo/m1@9_00"])
def test_frames_name_the_snapshot_at_or_below(data: Path, text: str) -> None:
    _, (player,) = resolve_players([text], data)
    made = [record.frames for record in snapshots(data, "demo", "m1")]
    assert player.frames == max(frames for frames in made if frames <= 900) > 0


def test_every_label_names_its_own_player(data: Path) -> None:
    for record in snapshots(data, "demo", "m0"):
        _, (player,) = resolve_players([record.snapshot_id], data)
        _, (again,) = resolve_players([player.label], data)
        assert again.ref.name == record.snapshot_id


def test_an_id_and_its_beginning_name_a_snapshot(data: Path) -> None:
    wanted = snapshots(data, "demo", "m0")[1].snapshot_id
    for text in (wanted, wanted[:12]):
        assert resolve_players([text], data)[1][0].ref.name == wanted


def test_best_has_games_behind_it(data: Path) -> None:
    _, (player,) = resolve_players(["demo@best"], data)
    assert player.population == "demo"


def test_scripted_players_play_the_game_of_the_trained_one(data: Path) -> None:
    env, players = resolve_players(["oneply", "demo/m0", "random"], data)
    assert [player.env_name for player in players] == ["connect_four"] * 3
    assert scripted_names(env) == ["oneply", "random"]
    assert players[0].ref == PlayerRef("scripted", "oneply")


def test_scripted_players_alone_need_a_game_and_no_league(tmp_path: Path) -> None:
    _, (player,) = resolve_players(["random"], tmp_path / "none", "cartpole")
    assert (player.env_name, player.config) == ("cartpole", None)
    assert not (tmp_path / "none").exists()


BAD_NAMES = {
    "member": (["demo/m9"], None, "demo has no member 'm9'; it has m0, m1"),
    "population": (["dmo/m0"], None, "no population 'dmo'.*did you mean 'demo'"),
    "frames": (["demo/m0@soon"], None, r"'soon' is no number of frames; expected one such as 800k"),
    "frames of a population": (
        ["demo@1.2M"],
        None,
        "only @best is known; frames belong to a member",
    ),
    "word": (["demo@bst"], None, "only @best is known"),
    "best without a role": (
        ["roles@best"],
        None,
        "each has a best of its own; expected roles/hider@best or roles/seeker@best",
    ),
    "whole population of roles": (
        ["roles", "random"],
        None,
        "expected one player of it: roles/hider@best or roles/seeker@best",
    ),
    "whole population": (
        ["demo", "random"],
        None,
        "'demo' is a whole population; expected one player of it: demo@best",
    ),
    "misspelt population": (
        ["demmo", "random"],
        None,
        "there is no player 'demmo'; did you mean demo@best",
    ),
    "scripted": (
        ["demo/m0", "onepy"],
        None,
        r"there is no player 'onepy'; did you mean oneply\? This game has oneply, random",
    ),
    "scripted of another game": (
        ["roles/m0", "oneply"],
        None,
        "there is no player 'oneply'.*This game has random",
    ),
    "id": (["deadbeefdeadbeef"], None, "no snapshot id begins with 'deadbeefdeadbeef'"),
    "empty": (["", "demo/m0"], None, "there is no player ''"),
    "path": (["../../etc/passwd"], None, "found a file; expected a snapshot"),
    "no game": (["random", "oneply"], None, "add --env NAME, such as --env connect_four"),
    "two games": (
        ["demo/m0", "roles/m0"],
        None,
        "plays connect_four, roles/m0@.* plays hide_and_seek; expected players of one game",
    ),
    "env against players": (
        ["demo/m0"],
        "tictactoe",
        "--env tictactoe: demo/m0@.* plays connect_four",
    ),
    "no best player": (
        ["unrated@best"],
        None,
        "no snapshot has 30 evaluation games yet.*name a member: unrated/m0",
    ),
}


@pytest.mark.parametrize(("names", "env", "message"), BAD_NAMES.values(), ids=BAD_NAMES.keys())
def test_wrong_names_get_one_line_that_helps(
    data: Path, names: list[str], env: str | None, message: str
) -> None:
    with pytest.raises(PlayerError, match=message) as raised:
        resolve_players(names, data, env)
    assert "\n" not in str(raised.value)
    assert raised.value.exit_code == 2


def test_a_wrong_game_is_named_and_files_are_for_the_command_line_only(tmp_path: Path) -> None:
    with pytest.raises(
        EnvNameError, match="env 'conect_four' is not known; did you mean 'connect_four'"
    ):
        resolve_players(["random"], tmp_path, "conect_four")
    with pytest.raises(EnvError, match="only the local command line runs code from files"):
        resolve_players(["random"], tmp_path, "./my_game.py:make")


def test_without_a_league_trained_players_are_not_found_and_none_is_made(tmp_path: Path) -> None:
    with pytest.raises(PlayerError, match="there is no league in .*; train a population first"):
        resolve_players(["demo@best"], tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_of_players_of_one_game_with_other_options_what_differs_is_told(data: Path) -> None:
    _, (player,) = resolve_players(["demo/m0"], data)
    a, b = (
        replace(player, env_options=given)
        for given in ({"seats": 2, "deep": 1}, {"deep": 1, "tall": True})
    )
    message = (
        "connect_four with seats = 2, no tall given, demo/m0@.* plays connect_four with "
        "no seats given, tall = True; expected players of one game"
    )
    with pytest.raises(PlayerError, match=message):
        _check_one_game([a, b], None)


# --- acting ---------------------------------------------------------------------------------------


def test_the_best_player_plays_a_game_of_pettingzoo_in_five_lines(data: Path) -> None:
    env, player = connect_four_v3.env(), load_player("demo@best", data)
    env.reset(seed=1)
    for _ in env.agent_iter():
        observation, _, terminated, truncated, _ = env.last()
        env.step(None if terminated or truncated else player.act(observation))
    assert not env.agents


def observation(columns: list[int]) -> dict[str, Any]:
    env = connect_four_v3.env()
    env.reset(seed=0)
    for column in columns:
        env.step(column)
    seen: dict[str, Any] = env.last()[0]
    return seen


def test_masks_hold_inside_and_beside_the_observation(data: Path) -> None:
    player = load_player("demo/m0", data)
    board = observation([3, 3, 3, 3, 3, 3])
    assert all(player.act(board) != 3 for _ in range(50))
    only_five = np.arange(7) == 5
    assert {player.act(board["observation"], only_five) for _ in range(5)} == {5}


def test_choices_follow_from_seed_and_resets(data: Path) -> None:
    def choices(seed: int, resets: int) -> list[int]:
        player = load_player("demo/m0", data, seed=seed)
        for _ in range(resets):
            player.reset()
        return [player.act(observation([])) for _ in range(20)]

    assert choices(1, 0) == choices(1, 0)
    assert len({tuple(choices(seed, resets)) for seed in (1, 2) for resets in (0, 1)}) == 4


def test_greedy_actions_do_not_depend_on_the_seed(data: Path) -> None:
    assert (
        len(
            {
                load_player("demo/m0", data, seed=seed).act(observation([3]), greedy=True)
                for seed in range(10)
            }
        )
        == 1
    )


def test_scripted_players_act_too(data: Path) -> None:
    assert load_player("oneply", data, env="connect_four").act(observation([0, 6, 1, 6, 2, 5])) == 3


def test_a_player_of_two_roles_must_be_told_which(data: Path) -> None:
    with pytest.raises(PlayerError, match="random may play hider or seeker; say which with role="):
        load_player("random", data, env="hide_and_seek")
    assert load_player("random", data, env="hide_and_seek", role="hider").act(
        np.zeros(3, np.float32)
    ) in range(3)
    assert load_player("roles/m2", data).act(1, np.array([1, 0, 1, 1])) in (0, 2, 3)
    with pytest.raises(PlayerError, match="role 'hider': roles/m2@.* plays seeker"):
        load_player("roles/m2", data, role="hider")


def test_what_does_not_fit_is_refused(data: Path) -> None:
    player = load_player("demo/m0", data)
    with pytest.raises(EnvError, match="an observation that does not fit"):
        player.act(np.zeros((3, 3)))
    with pytest.raises(EnvError, match="action_mask has 3 entries"):
        player.act(observation([]), np.ones(3))


def test_missing_weights_are_named(data: Path, tmp_path: Path) -> None:
    train(tmp_path, "gone", UNRATED)
    for path in population_paths(tmp_path, "gone").snapshots.iterdir():
        path.unlink()
    with pytest.raises(SnapshotError, match="lost: no such file; restore it"):
        load_player("gone/m0", tmp_path)


def replayed(actions: bytes, plies: int, seat: int) -> Iterator[tuple[dict[str, Any], int]]:
    """(observation, action) at every turn of a seat after the random opening."""
    env = connect_four_v3.env()
    env.reset(seed=0)
    unpacked = GamePacking.of(spec("connect_four").make()).unpack(actions)
    for ply, (mover, (column,)) in enumerate(unpacked):
        if mover == seat and ply >= plies:
            yield env.last()[0], column
        env.step(column)


@pytest.mark.parametrize("core", MEMORIES)
def test_a_loaded_player_with_memory_acts_as_it_does_in_a_match(data: Path, core: str) -> None:
    """The opponent's wider memory in the same slab does not change its actions either."""
    train(data, core, with_memory(8, core))
    train(data, f"{core}_wider", with_memory(24))
    env, (a, b) = resolve_players([f"{core}/m0", f"{core}_wider/m1"], data)
    result = play_match(a, b, games=10, greedy=True, env=env)
    player = load_player(f"{core}/m0", data)
    compared = 0
    for index, record in enumerate(result.records):
        player.reset()
        assert record.actions is not None
        for seen, played in replayed(record.actions, record.opening_plies, index % 2):
            assert player.act(seen, greedy=True) == played
            compared += 1
    assert compared > 30


def test_specs_of_scripted_players_are_the_games_own() -> None:
    assert scripted_names(spec("cartpole")) == ["random"]
