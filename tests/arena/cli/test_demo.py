"""The demo's third question: the best member against the snapshot nearest to a third of the
training, never its untrained self.
"""

from pathlib import Path

from arena.cli.demo import NAME, earlier_self
from arena.players.resolve import resolve_players
from tests.arena.tiny_populations import UNRATED, train


def test_the_earlier_self_is_the_nearest_snapshot_also_when_it_came_a_little_late(
    tmp_path: Path,
) -> None:
    train(tmp_path, NAME, {**UNRATED, "stop_at_frames": 1500, "snapshots": {"every_frames": 500}})
    name = earlier_self(tmp_path, "m1", 500)
    _, (player,) = resolve_players([name], tmp_path)
    assert player.member == "m1" and player.frames is not None
    assert 500 < player.frames < 1000
