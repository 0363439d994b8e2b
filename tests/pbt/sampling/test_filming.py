"""Evaluation games that a worker films while it plays them."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from av.codec.codec import UnknownCodecError

from pbt.config.schema import RunConfig
from pbt.envs import registry
from pbt.errors import ConfigError, EnvCrash
from pbt.film import extra
from pbt.film.folder import PARTIAL, FilmFolder, FilmName
from pbt.inference.policy_server import PolicyServer, ScriptedPolicy
from pbt.records import GameKind, PlayerRef
from pbt.sampling.filming import GameFilmer, check_filming
from pbt.sampling.rollout_worker import RolloutWorker
from pbt.sampling.slots import Partition
from pbt.sampling.sources import GamesFrom
from pbt.seeding import uniform
from pbt.transport.messages import GameEnd, GamePlan, SeatPlan
from pbt.transport.slab import Slab, role_layout
from tests.arena.matches.lamps import STEPS, Lamps, lamps
from tests.pbt.film.reading import read

TABLES = 2
# The result is shown at once, and stays.
RESULT = 2


def config(**evaluation: float) -> RunConfig:
    return RunConfig.model_validate(
        {"env": {"name": "connect_four"}, "seed": 3, "evaluation": evaluation}
    )


def play(
    folder: Path,
    games: int,
    kind: Callable[[int], GameKind] = lambda count: "evaluation",
    game: Callable[[], Lamps] = Lamps,
    **evaluation: float,
) -> list[GameEnd]:
    """Play `games` games at each of two tables, with a recorder of these settings.

    kind: gives the kind of a game by its count.
    """
    slab = Slab(role_layout(Lamps().roles[0], ("reward",), 4, 0), 64)
    server = PolicyServer([slab], 1)
    server.attach(
        0, ScriptedPolicy(lambda seen, mask, uniforms: np.zeros((len(mask), 1), np.int64))
    )
    counts, seat = Counter[int](), SeatPlan(PlayerRef("snapshot", "a" * 64), 0, 0, False)

    def next_game(table: int) -> GamePlan | None:
        if counts[table] == games:
            return None
        counts[table] += 1
        return GamePlan(
            counts[table],
            kind(counts[table]),
            1,
            (seat, seat),
            ("n", table, counts[table]),
            record_actions=True,
        )

    recorder = GameFilmer(config(**evaluation), lamps(), folder, lambda player: player.name[:3])
    worker = RolloutWorker(
        game, Partition.whole(TABLES, [64]), [slab], GamesFrom(next_game), 1, observer=recorder
    )
    ends: list[GameEnd] = []
    for _ in range(games * (STEPS + 2)):
        for request in worker.requests():
            worker.receive(server.serve(request))
        ends += [message for message in worker.advance() if isinstance(message, GameEnd)]
    assert not worker.busy and len(ends) == TABLES * games
    return ends


def name_of(end: GameEnd) -> FilmName:
    return FilmName(end.table, end.plan.game_count, end.trajectory_hash)


def filmed(folder: Path) -> set[FilmName]:
    return {film.name for film in FilmFolder(folder).films()}


def test_every_evaluation_game_is_filmed_under_the_name_of_its_row(tmp_path: Path) -> None:
    ends = play(tmp_path, 2, record_share=1.0)
    assert filmed(tmp_path) == {name_of(end) for end in ends}
    found = read(FilmFolder(tmp_path).films()[0].path)
    assert len(found.pictures) == 1 + STEPS + RESULT
    # Tiles of 8 x 12, enlarged to some 216 lines; seat 0 is red, seat 1 green, brighter with every
    # step.
    assert (found.width, found.height) == (2 * 12 * 27 + 4, 8 * 27 + 18)
    for step in range(STEPS + 1):
        middle = [found.pictures[step][120, x].astype(int).tolist() for x in (162, 490)]
        light = 100 + 30 * step
        assert middle[0] == pytest.approx([light, 0, 0], abs=12) and middle[1] == pytest.approx(
            [0, light, 0], abs=12
        )
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_a_share_is_filmed_and_which_it_is_depends_on_the_seed_only(tmp_path: Path) -> None:
    ends = play(tmp_path / "a", 12, record_share=0.3)
    chosen = {
        name_of(end) for end in ends if uniform(3, "film", end.table, end.plan.game_count) < 0.3
    }
    assert filmed(tmp_path / "a") == chosen and 0 < len(chosen) < len(ends)
    play(tmp_path / "b", 12, record_share=0.3)
    assert filmed(tmp_path / "b") == chosen


def test_training_games_are_not_filmed(tmp_path: Path) -> None:
    ends = play(
        tmp_path, 4, lambda count: "training" if count % 2 else "evaluation", record_share=1.0
    )
    assert filmed(tmp_path) == {name_of(end) for end in ends if end.plan.kind == "evaluation"}


def test_the_newest_films_are_kept(tmp_path: Path) -> None:
    play(tmp_path, 5, record_share=1.0, record_films=3)
    kept = FilmFolder(tmp_path).films()
    assert len(kept) == 3 and all(film.name.count >= 4 for film in kept)


def test_a_game_that_is_spoiled_leaves_no_film_and_the_next_one_does(tmp_path: Path) -> None:
    steps = Counter[int]()

    def crash_once(step: int) -> None:
        steps[step] += 1
        if step == 3 and steps[3] == 1:
            raise EnvCrash("the engine of lamps ended")

    ends = play(tmp_path, 2, game=lambda: Lamps(on_step=crash_once), record_share=1.0)
    finished = {name_of(end) for end in ends if not end.reason.startswith("voided")}
    assert len(finished) == 3 and filmed(tmp_path) == finished
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_a_film_that_cannot_be_written_costs_no_game_and_says_why(tmp_path: Path) -> None:
    folder = tmp_path / "films"
    folder.mkdir()
    taken: list[Path] = []

    def take_away(step: int) -> None:
        """The first film's file goes while it is written."""
        if step == 2 and not taken:
            taken.extend(folder.glob(".*"))
            for path in taken:
                path.unlink()

    ends = play(folder, 2, game=lambda: Lamps(on_step=take_away), record_share=1.0)
    assert all(end.reason == "rules" for end in ends) and len(taken) >= 1
    assert len(filmed(folder)) == len(ends) - len(taken)
    assert "No such file" in str(FilmFolder(folder).problem())


def test_a_place_where_no_film_can_lie_costs_no_game(tmp_path: Path) -> None:
    (tmp_path / "films").touch()
    ends = play(tmp_path / "films", 1, record_share=1.0)
    assert [end.reason for end in ends] == ["rules", "rules"]


WHERE = (
    "av.open",
    "pbt.film.picture.Painter.paint",
    "pbt.film.camera.Camera.begins",
    "pbt.film.camera.Camera.ends",
    "pbt.sampling.filming.FilmName",
)


@pytest.mark.parametrize("where", WHERE)
def test_whatever_is_raised_ends_the_film_and_never_the_game(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    def goes_wrong(*arguments: object, **named: object) -> None:
        raise UnknownCodecError("an error that no code foresees")

    monkeypatch.setattr(where, goes_wrong)
    ends = play(tmp_path, 2, record_share=1.0)
    assert [end.reason for end in ends] == ["rules"] * 4
    problem = str(FilmFolder(tmp_path).problem())
    assert "UnknownCodecError: an error that no code foresees" in problem
    assert [path.name for path in tmp_path.iterdir()] == ["problem.txt"]


@pytest.mark.parametrize("spoiling", [False, True])
def test_a_film_whose_file_cannot_be_removed_costs_no_game(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoiling: bool
) -> None:
    """The film is that of a voided game, or one that failed before."""
    unlink = Path.unlink

    def refused(path: Path, missing_ok: bool = False) -> None:
        if path.name.endswith(PARTIAL) and path.exists():
            raise PermissionError(13, "not allowed", str(path))
        unlink(path, missing_ok)

    def goes_wrong(step: int) -> None:
        if step == 2 and spoiling:
            raise EnvCrash("the engine of lamps ended")
        if step == 2:
            monkeypatch.setattr("pbt.film.picture.Painter.paint", lambda *arguments: None)

    monkeypatch.setattr(Path, "unlink", refused)
    ends = play(tmp_path, 1, game=lambda: Lamps(on_step=goes_wrong), record_share=1.0)
    assert [end.reason.startswith("voided") for end in ends] == [spoiling] * 2
    assert filmed(tmp_path) == set() and "not allowed" in str(FilmFolder(tmp_path).problem())


def test_a_folder_with_leftovers_that_cannot_be_removed_costs_no_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(folder: FilmFolder) -> None:
        raise PermissionError(13, "not allowed")

    monkeypatch.setattr(FilmFolder, "remove_leftovers", refused)
    play(tmp_path, 1, record_share=1.0)
    assert len(filmed(tmp_path)) == TABLES and "not allowed" in str(FilmFolder(tmp_path).problem())


def test_a_film_that_is_larger_than_all_may_be_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pbt.sampling.filming.MB", 1)
    play(tmp_path, 1, record_share=1.0, record_mb=20)
    assert filmed(tmp_path) == set()
    assert "it alone is larger than evaluation.record_mb = 20" in str(
        FilmFolder(tmp_path).problem()
    )


def test_games_without_images_cannot_be_recorded() -> None:
    game = registry.spec("connect_four").make()
    check_filming(config(), game, "c.toml")
    with pytest.raises(
        ConfigError, match=r"evaluation\.record_share = 0\.5: connect_four: no seat sees an image"
    ):
        check_filming(config(record_share=0.5), game, "c.toml")


def test_what_films_are_made_with_must_be_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    check_filming(config(record_share=0.5), Lamps(), "c.toml")
    monkeypatch.setattr(extra, "find_spec", lambda name: None)
    with pytest.raises(
        ConfigError,
        match=(
            r"evaluation\.record_share = 0\.5: videos are written with PyAV and Pillow, "
            r"not found here; install"
        ),
    ):
        check_filming(config(record_share=0.5), Lamps(), "c.toml")
