"""A config written down is the same config when read again."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pbt.config.dump import json_schema, to_toml
from pbt.config.learning import ConvLayer, ModelConfig
from pbt.config.load import load_config, read_config
from pbt.config.population import MemberOverride, PbtConfig, PopulationConfig
from pbt.config.running import EnvConfig
from pbt.config.schema import RunConfig

FULL = RunConfig(
    description='quotes " and \\ and\nlines, 漢字, \x7f',
    env=EnvConfig(
        name="connect_four",
        options={"rows": 6, "nested": {"a b": [1, 2.5, "x", True]}, "empty": {}},
    ),
    population=PopulationConfig(members={"hider": 2, "the seeker": 3}),
    members={"m0": MemberOverride(learning_rate=0.0), "m1": MemberOverride(shaping={"win": 1e-3})},
    model=ModelConfig(
        conv=(ConvLayer(channels=8, kernel=3), ConvLayer(channels=4, kernel=1)), hidden=()
    ),
)


def reread(config: RunConfig, folder: Path) -> RunConfig:
    path = folder / "again.toml"
    path.write_text(to_toml(config), encoding="utf-8")
    return load_config(path)


@pytest.mark.parametrize(
    "config", [FULL, RunConfig(env=EnvConfig(name="x"))], ids=["full", "defaults"]
)
def test_round_trip(config: RunConfig, tmp_path: Path) -> None:
    assert reread(config, tmp_path) == config


@given(
    text=st.text(st.characters(exclude_categories=["Cs"])),
    number=st.floats(allow_nan=False, allow_infinity=False),
    weights=st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"])),
        st.floats(-(2.0**39), 2.0**39, allow_subnormal=False, width=32),
    ),
)
def test_round_trip_of_any_text_and_number(
    text: str, number: float, weights: dict[str, float], tmp_path_factory: pytest.TempPathFactory
) -> None:
    plain = RunConfig(
        description=text,
        env=EnvConfig(name="x", options={"number": number, text: text}),
        pbt=PbtConfig(enabled=False),  # with it, weights have bounds
    )
    config = plain.model_copy(
        update={"learning": plain.learning.model_copy(update={"shaping": weights})}
    )
    assert reread(config, tmp_path_factory.mktemp("any")) == config


def test_every_line_says_where_its_value_came_from(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text('[env]\nname = "x"\n[env.options]\nrows = 6\n', encoding="utf-8")
    loaded = read_config(path, ["learning.gamma=0.5", "env.options.columns=7"])
    lines = to_toml(loaded.config, loaded.origins).splitlines()
    assert 'name = "x"  # file' in lines
    assert "options = { rows = 6, columns = 7 }  # --set and file" in lines
    assert "gamma = 0.5  # --set" in lines
    assert "epochs = 10  # default" in lines
    assert all("  # " in line for line in lines if line and not line.startswith("["))


def test_values_decided_later_are_shown_as_comments() -> None:
    assert "# copy_gap: decided when training starts" in to_toml(RunConfig(env=EnvConfig(name="x")))
    assert "[members.m0]\nlearning_rate = 0.0\nshaping = {}\n" in to_toml(FULL), (
        "what a member leaves to others is not decided later"
    )


def test_the_schema_for_editors_forbids_what_loading_forbids() -> None:
    schema = json_schema()
    assert schema["additionalProperties"] is False
    assert {"env", "population", "learning", "pbt"} <= schema["properties"].keys()
    assert schema["required"] == ["env"]
