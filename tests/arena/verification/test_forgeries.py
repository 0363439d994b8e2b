"""Thirty kinds of forgery are found as docs/verify.md says: rows altered (T1), or the chain as well
(T2).
"""

import io
import json
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from arena.cli.app import run
from tests.arena.verification import forgeries as forged
from tests.arena.verification.forgeries import Forge, remade
from tests.arena.verification.made import NAME

Output = pytest.CaptureFixture[str]
MATCH = f"match:{forged.MATCH}"


class Case(NamedTuple):
    """A forgery.

    id     its name
    forge  carries it out
    found  a part of the first difference's words
    what   what is verified
    """

    id: str
    forge: Forge
    found: str
    what: str = NAME


# The chain was not made anew, so that no head is needed.
ROWS_ONLY = (
    Case("window cherry-picked", forged.window_cherry_picked, "rounds "),
    Case("last rounds deleted", forged.last_rounds_deleted, "rounds "),
    Case("seats exchanged", forged.seats_exchanged, "training games"),
    Case("evaluation games turned", forged.evaluations_turned, "game "),
    Case("match game turned", forged.match_game_turned, f"game {MATCH}:", MATCH),
    Case("match turned", forged.match_turned, f"{MATCH}, game {MATCH}:"),
    Case("match deleted", forged.match_deleted, f"{MATCH} no match"),
    Case("match added", forged.match_renumbered, "match:9 a match of no record"),
    Case("training game deleted", forged.training_game_deleted, "training games"),
    Case("game added", forged.game_added, "a game of no record"),
    Case("superseded counts again", forged.superseded_counts_again, "superseded"),
    Case("event reworded", forged.event_reworded, "events "),
    Case("snapshot row altered", forged.snapshot_row_altered, "snapshots "),
    Case("snapshot file replaced", forged.snapshot_file_replaced, "a file with SHA-256"),
    Case("removed weights denied", forged.removed_weights_denied, "weights_removed"),
    Case("version altered", forged.version_altered, "training games"),
    Case("totals of a block altered", forged.totals_altered, "totals"),
    Case("block removed", forged.block_removed, "training games"),
    Case("block damaged", forged.block_damaged, "a block that cannot be read"),
    Case("players of a block hidden", forged.players_of_block_hidden, "players"),
    Case("folded counts altered", forged.folded_counts_altered, "counts of folded games"),
    Case("config altered", forged.config_altered, "population 1"),
    Case("chain cut", forged.last_record_removed, "a game of no record"),
    Case("games reordered", forged.games_reordered, "training games"),
    Case("import altered", forged.import_card_altered, "imported/friend", "imported"),
)
# The chain agrees with the rows again, and what else is stored contradicts them.
CONTRADICTED = (
    Case("evaluation games turned", remade(forged.evaluations_turned), "places: stored"),
    Case("match game turned", remade(forged.match_game_turned, match=True), "places:", MATCH),
    Case("window cherry-picked", remade(forged.window_cherry_picked, forget=True), "score of"),
    Case("last rounds deleted", remade(forged.last_rounds_deleted, forget=True), "rounds of"),
    Case("snapshot row altered", remade(forged.snapshot_row_altered, forget=True), "frames"),
    Case("seed altered", remade(forged.seed_altered, forget=True), "seed"),
    Case("voided", remade(forged.evaluation_voided, forget=True), "to its end"),
    Case(
        "one game of a pair exchanged",
        remade(forged.one_match_game_exchanged, match=True),
        "pair",
        MATCH,
    ),
    Case("event deleted", remade(forged.event_deleted), "checkpoint"),
    Case(
        "last rounds and events",
        remade(forged.last_rounds_and_events_deleted, forget=True),
        "rounds of",
    ),
)
# The match agrees with its own chain again, and the population, which was not altered, tells of it.
TOLD_BY_THE_POPULATION = (
    Case("match turned", remade(forged.match_turned, match=True), f"{MATCH}, game "),
    Case("pair of a match", remade(forged.match_pair_exchanged, match=True), "its chain"),
)
# Everything agrees with everything, but for the head that was published.
HEAD_ONLY = (
    Case("training game turned", remade(forged.newest_game_turned, forget=True), ""),
    Case("version altered", remade(forged.version_altered, forget=True), ""),
    Case("evaluation players", remade(forged.evaluation_players_exchanged, forget=True), ""),
    Case("pair exchanged", remade(forged.match_pair_exchanged, match=True), "", MATCH),
    Case("folded counts", forged.counts_and_fold_altered, ""),
    Case("event deleted", remade(forged.event_deleted, forget=True), ""),
)


def verify(data: Path, capsys: Output, what: str, *words: str) -> tuple[int, dict[str, Any]]:
    capsys.readouterr()
    code = run(["verify", what, "--data", str(data), "--json", *words])
    return code, json.loads(capsys.readouterr().out)


@pytest.fixture(scope="module")
def heads(made: Path) -> dict[str, str]:
    """What is verified -> the head that was published before the forgeries."""
    found = {}
    for what in (NAME, MATCH):
        said = io.StringIO()
        with redirect_stdout(said):
            assert run(["verify", what, "--data", str(made), "--json", "--replay", "none"]) == 0
        found[what] = str(json.loads(said.getvalue())["head"])
    return found


def texts(report: dict[str, Any]) -> list[str]:
    return [" ".join(difference.values()) for difference in report["differences"]]


def test_thirty_kinds_are_tried_half_of_them_with_the_chain_made_anew() -> None:
    remade_chain = [*CONTRADICTED, *HEAD_ONLY]
    assert len(ROWS_ONLY) + len(remade_chain) >= 30
    assert len(remade_chain) >= 15


@pytest.mark.parametrize("case", ROWS_ONLY, ids=lambda case: case.id)
def test_altered_rows_are_found_by_the_chain(case: Case, data: Path, capsys: Output) -> None:
    case.forge(data)
    code, report = verify(data, capsys, case.what, "--replay", "none")
    assert (code, report["ok"]) == (1, False)
    assert any(case.found in text for text in texts(report)), texts(report)


@pytest.mark.parametrize("case", CONTRADICTED, ids=lambda case: case.id)
def test_a_chain_made_anew_is_contradicted_by_the_rest(
    case: Case, data: Path, capsys: Output, heads: dict[str, str]
) -> None:
    head = heads[case.what]
    case.forge(data)
    code, report = verify(data, capsys, case.what)
    assert (code, report["ok"]) == (1, False)
    assert any(case.found in text for text in texts(report)), texts(report)
    code, report = verify(data, capsys, case.what, "--head", head, "--replay", "none")
    assert any(head in text for text in texts(report))


@pytest.mark.parametrize("case", TOLD_BY_THE_POPULATION, ids=lambda case: case.id)
def test_a_match_whose_chain_was_made_anew_is_found_by_the_name_of_its_population(
    case: Case, data: Path, capsys: Output
) -> None:
    case.forge(data)
    code, report = verify(data, capsys, case.what)
    assert (code, report["ok"]) == (1, False)
    assert any(case.found in text for text in texts(report)), texts(report)


@pytest.mark.parametrize("case", HEAD_ONLY, ids=lambda case: case.id)
def test_a_chain_made_anew_is_found_by_the_head_that_was_published(
    case: Case, data: Path, capsys: Output, heads: dict[str, str]
) -> None:
    head = heads[case.what]
    case.forge(data)
    code, report = verify(data, capsys, case.what)
    assert (code, texts(report)) == (0, []), "what the table says of it"
    code, report = verify(data, capsys, case.what, "--head", head, "--replay", "none")
    assert code == 1
    assert [text for text in texts(report) if head in text] == texts(report)


def test_a_chain_that_claims_to_have_begun_today_has_another_head(
    data: Path, capsys: Output, heads: dict[str, str]
) -> None:
    head = heads[NAME]
    forged.begun_anew(data)
    code, report = verify(data, capsys, NAME, "--head", head, "--replay", "none")
    assert (code, report["begun_at"] is not None) == (1, True)
    assert any(head in text for text in texts(report))


def test_a_resume_of_an_altered_match_names_the_game(data: Path, capsys: Output) -> None:
    forged.match_game_turned(data)
    for number, code in ((forged.MATCH, 1), (forged.MATCH + 1, 0)):
        capsys.readouterr()
        assert run(["match", "--resume", str(number), "--data", str(data)]) == code
    capsys.readouterr()
    run(["match", "--resume", str(forged.MATCH), "--data", str(data)])
    said = capsys.readouterr()
    assert f"game {MATCH}:2: found" in said.err
    assert "Verdict" not in said.out


def test_any_head_of_the_past_is_known(made: Path, capsys: Output) -> None:
    heads = [
        row[0].hex()
        for row in forged.execute(made, "SELECT head FROM chain WHERE population_id = 1")
    ]
    for head in (heads[0], heads[len(heads) // 2], heads[-1][:20]):
        assert verify(made, capsys, NAME, "--head", head, "--replay", "none")[0] == 0
    assert verify(made, capsys, NAME, "--head", "f" * 64, "--replay", "none")[0] == 1


@pytest.mark.parametrize("word", ["xyz", "abc", "f" * 65])
def test_what_is_no_head_is_refused(made: Path, capsys: Output, word: str) -> None:
    capsys.readouterr()
    assert run(["verify", NAME, "--head", word, "--data", str(made)]) == 2
    assert "hexadecimal" in capsys.readouterr().err
