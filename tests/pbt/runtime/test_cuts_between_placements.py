"""A run goes on in another placement than the one in which its checkpoint was taken.

Clocks, members, open games and rows are the same there, and rows add up over all placements.
"""

from functools import partial
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest

from pbt.checkpoint.files import Checkpoint, read_newest, write_checkpoint
from pbt.records import GameRecord
from pbt.sampling.seats import NO_SLOT
from tests.pbt.runtime.placing import PLACEMENTS, Running, placed

OTHERS = [placement for placement in PLACEMENTS if placement != "shards"]
LIVES = [
    ("tictactoe", ["serial", "inline", "central", "serial"], 500),
    ("rock_paper_scissors", ["inline", "inline", "mixture", "central", "central"], 1500),
    ("hide_and_seek", ["central", "more_shards", "serial", "mixture", "inline"], 600),
]
# Where a checkpoint of a placement is restored beside the life that it is taken from.
BESIDE = {
    "tictactoe": {
        "serial": ["serial", "central", "more_shards"],
        "inline": ["serial", "more_shards"],
        "central": ["inline", "mixture"],
    },
    "rock_paper_scissors": {"mixture": ["serial", "mixture", "more_shards"]},
    "hide_and_seek": {"more_shards": ["inline", "central", "mixture", "more_shards"]},
}


def rows_in(cut: Checkpoint) -> int:
    """Valid rows in the slots of a checkpoint: OPEN, PARKED, and waiting for their batch."""
    worker, found = cut.state.worker, 0
    places = [
        (seat["role"], seat["slot"], seat["row"])
        for seat in worker.seats.rows()
        if seat["learning"]
    ]
    for role, filler in enumerate(worker.fillers):
        places += [
            (role, slot, row) for entries in filler.pool.parked.values() for slot, row in entries
        ]
    places += [
        (full.role, full.slot, None) for own in cut.state.queues.values() for full in own.queue
    ]
    for role, slot, row in places:
        if slot != NO_SLOT:
            slab = cut.tensors[f"slab-{role}"]
            found += int(slab["valid"][slab["slots"].tolist().index(slot)][:row].sum())
    return found


def account(cut: Checkpoint) -> dict[str, int]:
    """What was counted so far, wherever in the checkpoint."""
    fillers, queues = cut.state.worker.fillers, cut.state.queues.values()
    dropped = sum(sum(part.dropped.values()) for part in (*fillers, *queues))
    return {
        "produced": sum(filler.produced for filler in fillers),
        "trained": cut.state.engine.rows_trained,
        "dropped": dropped,
    }


def open_games(cut: Checkpoint) -> dict[tuple[int, int], list[Any]]:
    """(environment, count) -> what does not depend on the placement."""
    return {
        (game["table"], game["game_count"]): [game["seed"], game["history"], game["steps"]]
        for game in cut.state.worker.games.rows()
    }


def reached(run: Running, frames: int) -> bool:
    return min(run.engine.clocks().values()) >= frames


def check_same(run: Running, cut: Checkpoint) -> None:
    """A run that was just restored is where the checkpoint was taken."""
    engine = run.engine
    assert engine.restore(cut) == 0
    engine.take_over_hyperparams()
    assert engine.clocks() == {
        name: int(cut.tensors[f"learner-{name}"]["clocks"][1]) for name in cut.state.queues
    }
    with engine.at_rest():
        again = engine.take_cut(cut.number + 1)
    assert again.state.controller == cut.state.controller and again.state.engine == cut.state.engine
    assert again.state.planner == cut.state.planner
    lost = sum(own.dropped.get("no room", 0) for own in again.state.queues.values())
    before = account(cut)
    assert before["produced"] == before["trained"] + before["dropped"] + rows_in(cut)
    assert (
        account(again) == before | {"dropped": before["dropped"] + lost}
        and rows_in(again) == rows_in(cut) - lost
    )
    assert (engine.rows_produced(), engine.rows_trained) == (before["produced"], before["trained"])
    assert engine.rows_standing() == rows_in(again)
    assert open_games(again) == open_games(cut)


def chain(game: str, placements: list[str], frames: int, folder: Path) -> None:
    """One run through these placements, each going on from the checkpoint of the one before.

    Its checkpoints are restored in other placements, too.
    """
    told: list[GameRecord] = []
    cuts: list[Checkpoint] = []
    for number, placement in enumerate(placements):
        with Running(placed(placement, game, frames), folder / "snapshots") as run:
            if cuts:
                check_same(run, read(folder, cuts[-1]))
            else:
                run.start()
            if number < len(placements) - 1:
                due = frames * (number + 1) // len(placements)
                run.until(partial(reached, run, due))
                cuts.append(run.cut(number + 1))
                # Going on after a cut changes nothing in what was written.
                write_checkpoint(folder / "checkpoints", cuts[-1], keep=2)
            else:
                run.finish(run.account)
        told += run.sink.games
        assert not any(run.restarts().values()) and not run.engine.dropped()["restart"]
    check_life(told, cuts)
    for source, cut in zip(placements[:-1], cuts, strict=True):
        for placement in BESIDE[game].get(source, []):
            with Running(placed(placement, game, frames), folder / "snapshots") as run:
                check_same(run, cut)


def read(folder: Path, cut: Checkpoint) -> Checkpoint:
    found, damaged = read_newest(folder / "checkpoints")
    assert not damaged and found.number == cut.number
    return found


def check_life(told: list[GameRecord], cuts: list[Checkpoint]) -> None:
    assert [record.number for record in told] == list(range(len(told))), (
        "games are numbered on, none twice"
    )
    games = {(record.environment, record.count): record for record in told}
    assert len(games) == len(told) and not any(
        record.end_reason.startswith("voided") for record in told
    )
    for cut in cuts:
        assert open_games(cut), "the test needs open games"
        for key, (seed, _, steps) in open_games(cut).items():
            record = games[key]
            assert (
                record.seed == seed
                and record.steps >= steps
                and record.number >= cut.state.controller.games
            )
    assert all(
        later.state.controller.games > earlier.state.controller.games
        for earlier, later in pairwise(cuts)
    )


@pytest.mark.slow
@pytest.mark.parametrize(("game", "placements", "frames"), LIVES)
def test_one_life_through_all_placements(
    game: str, placements: list[str], frames: int, tmp_path: Path
) -> None:
    chain(game, placements, frames, tmp_path)


def test_every_pair_of_placements_is_met() -> None:
    met = {pair for _, placements, _ in LIVES for pair in pairwise(placements)}
    for game, placements, _ in LIVES:
        assert BESIDE[game].keys() <= set(placements[:-1])
        met |= {(source, other) for source, others in BESIDE[game].items() for other in others}
    assert met == set(product(OTHERS, OTHERS))
