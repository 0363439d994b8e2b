"""`arena export` and `arena import`: the same player in another league; and files that lie."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load

from arena.cli.app import run
from arena.data.paths import league_path
from arena.data.snapshot_cards import card_beside
from pbt.models.tensor_file import read_tensor_file
from pbt.models.weights import to_bytes
from tests.arena.tiny_populations import UNRATED, train

Output = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """(the data directory it was trained in, its weights' file)."""
    folder = tmp_path_factory.mktemp("exported")
    train(folder / "data", "home", UNRATED)
    out = folder / "best.safetensors"
    assert run(["export", "home/m1", "--out", str(out), "--data", str(folder / "data")]) == 0
    return folder / "data", out


@pytest.fixture
def away(exported: tuple[Path, Path], tmp_path: Path) -> Path:
    """A copy of the exported files, to be spoiled."""
    for path in (exported[1], card_beside(exported[1])):
        shutil.copy(path, tmp_path)
    return tmp_path / exported[1].name


def report(capsys: Output, *arguments: str) -> Any:
    capsys.readouterr()
    assert run([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_an_imported_snapshot_is_the_same_player(
    exported: tuple[Path, Path], tmp_path: Path, capsys: Output
) -> None:
    home, weights = exported
    there = str(tmp_path / "there")
    card = report(capsys, "import", str(weights), "--data", there)
    assert card["player"] == "imported/best"
    assert set(card["hyperparams"]) >= {"learning_rate", "entropy_coef", "adam_beta1"}
    options = ("--games", "6", "--concurrency", "1", "--seed", "3")
    here = report(
        capsys, "match", "home/m1", "random", *options, "--no-record", "--data", str(home)
    )
    again = report(capsys, "match", "imported/best", "random", *options, "--data", there)
    assert again["a"]["name"] == "imported/best"
    assert again["a"]["id"] == here["a"]["id"] == card["snapshot_id"]
    assert [again[key] for key in ("score", "wins", "draws", "losses", "mean_length")] == [
        here[key] for key in ("score", "wins", "draws", "losses", "mean_length")
    ]
    (table,) = report(capsys, "league", "--data", there)
    assert {player["player"] for player in table["players"]} == {"imported/best", "random"}
    by_id = report(
        capsys,
        "match",
        card["snapshot_id"][:12],
        "random",
        *options,
        "--no-record",
        "--data",
        there,
    )
    assert by_id["a"]["name"] == "imported/best"
    report(capsys, "import", str(weights), "--name", "twin", "--data", there)
    copied = tmp_path / "copy.safetensors"
    report(capsys, "export", "imported/twin", "--out", str(copied), "--data", there)
    assert copied.read_bytes() == weights.read_bytes()
    report(capsys, "delete", "imported/twin", "--yes", "--data", there)
    assert run(["match", "imported/twin", "random", "--data", there]) == 2
    assert "did you mean" in (said := capsys.readouterr().err) or "imported are best" in said
    assert (
        report(
            capsys, "match", "imported/best", "random", *options, "--no-record", "--data", there
        )["score"]
        == again["score"]
    )
    report(capsys, "delete", "imported/best", "--yes", "--data", there)
    assert list((tmp_path / "there" / "imported" / "weights").iterdir()) == []


def refused(away: Path, capsys: Output, *arguments: str, code: int = 1) -> str:
    """The message; and nothing was written. code: 2 for what was typed."""
    data = away.parent / "there"
    capsys.readouterr()
    assert run(["import", str(away), "--data", str(data), *arguments]) == code
    assert not data.exists()
    message = capsys.readouterr().err
    assert message.startswith("error: ")
    assert len(message) < 2000
    return message


def change_card(away: Path, **changes: Any) -> None:
    card = card_beside(away)
    card.write_text(json.dumps({**json.loads(card.read_text()), **changes}))


def model(away: Path, **changes: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(card_beside(away).read_text())["model"]
    return {**found, **changes}


def rewritten(away: Path, name: str, tensor: torch.Tensor | None) -> None:
    """Another tensor in the file, and a card that knows its size."""
    metadata = json.loads(read_tensor_file(away).metadata["pbt"])
    tensors = {key: value for key, value in load(away.read_bytes()).items() if key != name}
    away.write_bytes(to_bytes(tensors if tensor is None else {**tensors, name: tensor}, metadata))
    change_card(away, size_bytes=away.stat().st_size)


def first_tensor(away: Path) -> tuple[str, torch.Tensor]:
    return next(
        (name, tensor)
        for name, tensor in sorted(load(away.read_bytes()).items())
        if name.startswith("model.") and tensor.dim() == 2
    )


def test_weights_that_are_not_the_cards(away: Path, capsys: Output) -> None:
    content = away.read_bytes()
    away.write_bytes(content[:-1])
    assert "cut off or has something appended" in refused(away, capsys)
    away.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert "found SHA-256" in refused(away, capsys)
    away.write_bytes((1 << 40).to_bytes(8, "little") + content[8:])
    assert "a header of 1099511627776 bytes" in refused(away, capsys)
    away.write_bytes(b"PK\x03\x04" + content)
    assert "found a header of" in refused(away, capsys)
    away.unlink()
    assert "no such file; expected the weights that `arena export` wrote" in refused(
        away, capsys, code=2
    )


def test_tensors_that_do_not_fit(away: Path, capsys: Output) -> None:
    name, tensor = first_tensor(away)
    rewritten(away, name, tensor.double())
    assert "('F64'," in refused(away, capsys)
    rewritten(away, name, torch.zeros(3, 3))
    assert "(3, 3)" in refused(away, capsys)
    rewritten(away, name, None)
    assert "found nothing" in refused(away, capsys)
    rewritten(away, name, tensor)
    rewritten(away, "model.more", torch.zeros(1))
    assert "expected nothing" in refused(away, capsys)


def test_weights_that_are_no_numbers(away: Path, capsys: Output) -> None:
    import hashlib

    name, tensor = first_tensor(away)
    spoiled = tensor.clone()
    spoiled[0, 0] = torch.nan
    rewritten(away, name, spoiled)
    change_card(away, snapshot_id=hashlib.sha256(away.read_bytes()).hexdigest())
    assert "not finite" in refused(away, capsys)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"env_name": "./evil.py:make"}, "is a file of the user's"),
        ({"env_name": "no_such_game"}, "is not known"),
        ({"env_options": {"no": "such"}}, "cannot be made here"),
        ({"role": "goalkeeper"}, "role 'goalkeeper'"),
        ({"snapshot_id": "../../etc/passwd"}, "snapshot_id"),
        ({"size_bytes": 7}, "as its card says"),
        ({"import": "os"}, "import"),
        ({"version": 2}, "version"),
        ({"frames": "many"}, "frames"),
        ({"frames": 10**30}, "frames"),
        ({"member": "\x1b[31m evil"}, "member"),
        ({"population": "../../x"}, "population"),
    ],
)
def test_cards_that_lie(away: Path, capsys: Output, changes: dict[str, Any], said: str) -> None:
    change_card(away, **changes)
    assert said in refused(away, capsys)


def test_networks_that_are_bombs(away: Path, capsys: Output) -> None:
    bombs = [
        ({"hidden": [10**9, 10**9]}, "or equal to 65536"),
        ({"hidden": [16] * 2000}, "at most 100"),
        ({"core": "gru", "gru_size": 2**62}, "or equal to 65536"),
        ({"core": "lstm", "lstm_size": 2**62}, "or equal to 65536"),
    ]
    for changes, said in bombs:
        change_card(away, model=model(away, **changes))
        assert said in refused(away, capsys)
    sizes = {"gru_size": 128, "lstm_size": 128}
    change_card(away, model=model(away, hidden=[65536] * 100, core="none", **sizes))
    assert "tensors that do not fit its card" in refused(away, capsys), (
        "16 TB of weights, of which none was made"
    )


def test_cards_that_are_none(away: Path, capsys: Output) -> None:
    card = card_beside(away)
    for content, said in (
        (b"{" * 70_000, "more than 65536 bytes"),
        (b"\x80\x04", "no card of a snapshot"),
        (b"[]", "no card of a snapshot"),
    ):
        card.write_bytes(content)
        assert said in refused(away, capsys)
    card.unlink()
    assert (
        "no such file; expected the weights that `arena export` wrote, and their card"
        in refused(away, capsys, code=2)
    )


def test_names_and_files_that_are_taken(
    exported: tuple[Path, Path], tmp_path: Path, away: Path, capsys: Output
) -> None:
    home, weights = exported
    assert "expected 1 to 64" in refused(away, capsys, "--name", "../up", code=2)
    assert run(["export", "home/m1", "--out", str(weights), "--data", str(home)]) == 2
    assert "exists already" in capsys.readouterr().err
    assert run(["export", "home/m1", "--out", "", "--data", str(home)]) == 2
    assert "names no file" in capsys.readouterr().err
    assert run(["export", "random", "--out", str(tmp_path / "r"), "--data", str(home)]) == 2
    other = tmp_path / "other.safetensors"
    assert run(["export", "home/m0", "--out", str(other), "--data", str(home)]) == 0
    there = str(tmp_path / "there")
    assert run(["import", str(away), "--name", "x", "--data", there]) == 0
    assert run(["import", str(other), "--name", "x", "--data", there]) == 2
    assert "another snapshot already" in capsys.readouterr().err
    assert run(["train", "connect_four", "--name", "imported", "--data", there]) == 2


def test_an_export_that_the_league_cannot_record_leaves_nothing(
    exported: tuple[Path, Path], tmp_path: Path, capsys: Output
) -> None:
    """As in a folder that is only to be read: what left a league stands in it."""
    home = tmp_path / "home"
    shutil.copytree(exported[0], home)
    refuse = "create trigger refuse before insert on chain begin select raise(abort, 'no'); end"
    with closing(sqlite3.connect(league_path(home))) as connection:
        connection.execute(refuse)
    out = tmp_path / "kept" / "m1.safetensors"
    out.parent.mkdir()
    assert run(["export", "home/m1", "--out", str(out), "--data", str(home)]) == 1
    assert "error: " in capsys.readouterr().err
    assert list(out.parent.iterdir()) == []


def test_a_damaged_card_is_named_and_can_be_removed(
    away: Path, tmp_path: Path, capsys: Output
) -> None:
    there = tmp_path / "there"
    for name in ("good", "twin"):
        report(capsys, "import", str(away), "--name", name, "--data", str(there))
    report(capsys, "match", "imported/good", "random", "--games", "2", "--data", str(there))
    (there / "imported" / "bad.json").write_text("{")
    assert run(["league", "--env", "connect_four", "--data", str(there)]) == 1
    assert "arena delete imported/bad --yes" in capsys.readouterr().err
    report(capsys, "delete", "imported/twin", "--yes", "--data", str(there))
    assert len(list((there / "imported" / "weights").iterdir())) == 1, (
        "the damaged card might name them"
    )
    assert report(capsys, "delete", "imported/bad", "--yes", "--data", str(there))["id"] is None
    assert run(["delete", "imported/bad", "--yes", "--data", str(there)]) == 2
    assert "there are: good" in capsys.readouterr().err
    report(capsys, "delete", "imported/good", "--yes", "--data", str(there))
    assert list((there / "imported" / "weights").iterdir()) == []
