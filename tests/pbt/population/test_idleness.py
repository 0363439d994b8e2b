"""A config whose PBT can never act says so; the shipped ones can act, or have it off."""

import pytest

from pbt.config.load import find_config, load_config, shipped_configs
from pbt.config.schema import RunConfig
from pbt.population.idleness import roles_of_config, why_idle


def idle(**more: object) -> str | None:
    config = RunConfig.model_validate({"env": {"name": "x"}, **more})
    return why_idle(config, roles_of_config(config))


def test_rounds_that_come_after_the_end() -> None:
    late = {"period_frames": 30, "warmup_frames": 70}
    text = idle(pbt=late, stop_at_frames=90)
    assert text is not None
    assert text.startswith("PBT never acts: its first round is at 90 frames")
    assert idle(pbt=late, stop_at_frames=91) is None
    assert idle(pbt={**late, "enabled": False}, stop_at_frames=90) is None


@pytest.mark.parametrize(
    ("members", "text"),
    [
        (2, "and 2 play it"),
        ({"a": 2, "b": 1}, "and 2 play a and 1 play b"),
        ({"a": 2, "b": 3}, None),
        (3, None),
    ],
)
def test_too_few_to_copy(members: object, text: str | None) -> None:
    found = idle(population={"members": members})
    assert (found is None) == (text is None)
    if found is not None and text is not None:
        assert found.startswith("PBT copies nothing, it only mutates: ") and text in found


def test_members_that_left_are_not_counted() -> None:
    left = {"members": 3, "left": ["m1"]}
    assert "and 2 play it" in (idle(population=left) or "")
    assert idle(population={**left, "joined": {"m3": {"role": "it"}}}) is None


def test_nothing_to_copy_from() -> None:
    assert "leaves no member to copy from" in (idle(pbt={"top_share": 0.0}) or "")
    both = idle(pbt={"top_share": 0.0, "mutation_probability": 0.0})
    assert both is not None and "it never acts" in both


@pytest.mark.parametrize("name", shipped_configs())
def test_shipped_configs_can_act_or_have_pbt_off_with_a_reason(name: str) -> None:
    config = load_config(name)
    if config.pbt.enabled:
        assert why_idle(config, roles_of_config(config)) is None
        return
    lines = find_config(name).read_text(encoding="utf-8").splitlines()
    assert lines[lines.index("enabled = false") - 1].startswith("# ")
