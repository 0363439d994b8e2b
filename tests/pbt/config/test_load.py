"""Reading configs: a malformed one gives one line per problem, with place and fix, all at once."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pbt.config.load import (
    config_from_table,
    find_config,
    load_config,
    read_config,
    shipped_configs,
)
from pbt.config.population import MemberOverride, PbtConfig
from pbt.config.running import EnvConfig
from pbt.config.schema import RunConfig
from pbt.errors import ConfigError
from pbt.population.pbt_rules import PbtRules

ENV = '[env]\nname = "connect_four"\n'


def write(folder: Path, text: str) -> Path:
    path = folder / "run.toml"
    path.write_text(text, encoding="utf-8")
    return path


def problems_of(folder: Path, text: str, *overrides: str) -> tuple[str, ...]:
    path = write(folder, text)
    before = sorted(folder.rglob("*"))
    with pytest.raises(ConfigError) as caught:
        load_config(path, overrides)
    assert caught.value.exit_code == 2
    assert sorted(folder.rglob("*")) == before, "a refused config leaves nothing behind"
    message = str(caught.value)
    assert message.splitlines()[0].startswith(str(path))
    assert (
        "pydantic" not in message and "type=" not in message and "validation error" not in message
    )
    assert message.count("\n") == len(caught.value.problems), "one line per problem"
    return caught.value.problems


# text, the place each line names, what each line advises
MALFORMED = {
    "no game": ("", ["env: missing"], ['[env] name = "connect_four"']),
    "game as a text": ('env = "connect_four"', ['env = "connect_four"'], ["write a section [env]"]),
    "empty game name": (
        '[env]\nname = ""',
        ['env.name = "": must be a text that is not empty'],
        [""],
    ),
    "unknown section": (
        f"{ENV}[learnig]\nepochs = 2",
        ["learnig: unknown key"],
        ["did you mean learning?"],
    ),
    "unknown key": (
        f"{ENV}[pbt]\nperod_frames = 3",
        ["pbt.perod_frames: unknown key"],
        ["did you mean period_frames?"],
    ),
    "key of another section": (
        f"gamma = 0.9\n{ENV}",
        ["gamma: unknown key"],
        ["did you mean learning.gamma?"],
    ),
    "nothing like it": (
        f"{ENV}[checkpoints]\nzebra = 1",
        ["checkpoints.zebra: unknown key"],
        ["one of: every_s, keep"],
    ),
    "number out of range": (
        f"{ENV}[learning]\ngamma = 1.5",
        ["learning.gamma = 1.5: must be a number from 0 to 1"],
        ["the default is 0.99"],
    ),
    "negative count": (
        f"{ENV}[population]\nmembers = -4",
        ["population.members = -4"],
        ["the default is 4"],
    ),
    "number in quotes": (
        f'{ENV}[learning]\nepochs = "3"',
        ['learning.epochs = "3": must be a whole number'],
        ["write 3 without quotes"],
    ),
    "float for a count": (
        f"stop_at_frames = 2e6\n{ENV}",
        ["stop_at_frames = 2000000.0"],
        ["write 2000000"],
    ),
    "switch in quotes": (
        f'{ENV}[learning]\nvtrace = "True"',
        ["learning.vtrace"],
        ["write true without quotes"],
    ),
    "not a number": (
        f"{ENV}[learning]\nlearning_rate = nan",
        ["learning.learning_rate = nan"],
        ["the default is 0.0005"],
    ),
    "infinite": (
        f"{ENV}[learning]\nmax_grad_norm = inf",
        ["learning.max_grad_norm = inf"],
        ["the default is 0.5"],
    ),
    "unknown choice": (
        f'{ENV}[model]\ncore = "gri"',
        ['model.core = "gri": must be one of "none", "gru", "lstm"'],
        ['did you mean "gru"?'],
    ),
    "value inside a list": (
        f"{ENV}[model]\nhidden = [64, 0]",
        ["model.hidden[1] = 0"],
        ["whole number from 1 to 65536"],
    ),
    "entry of a list of tables": (
        f"{ENV}[model]\nconv = [{{ channels = 8, kernl = 3 }}]",
        ["model.conv[0].kernel: missing", "model.conv[0].kernl"],
        ["add it", "did you mean kernel?"],
    ),
    "pair of three": (
        f"{ENV}[pbt]\nlearning_rate_bounds = [1, 2, 3]",
        ["pbt.learning_rate_bounds"],
        ["exactly 2 values"],
    ),
    "table entry": (
        f"{ENV}[population.members]\nhider = 0",
        ["population.members.hider = 0"],
        ["whole number from 1 to 1000"],
    ),
    "member override": (f"{ENV}[members.m0]\ngamma = 1.0", ["members.m0.gamma: unknown key"], [""]),
    "date for a number": (
        f"{ENV}[learning]\nvalue_coef = 2024-01-01",
        ["learning.value_coef"],
        ["the default is 0.5"],
    ),
    "batch does not divide": (
        f"{ENV}[learning]\nbatch_steps = 2050",
        ["learning.batch_steps = 2050"],
        ["try 2048"],
    ),
    "minibatches do not divide": (
        f"{ENV}[learning]\nminibatches = 3",
        ["learning.minibatches = 3"],
        ["try 1"],
    ),
    "bounds swapped": (
        f"{ENV}[pbt]\nentropy_coef_bounds = [2, 1]",
        ["pbt.entropy_coef_bounds"],
        ["swap them"],
    ),
    "conv without layers": (
        f'{ENV}[model]\nencoder = "conv"\nconv = []',
        ["model.conv = []"],
        ["channels = 32"],
    ),
    "syntax": (f"{ENV}[learning]\ngamma 0.9", ["line 4, column 7"], ["expected '='"]),
    "section twice": (f"{ENV}{ENV}", ["line 3, column"], ["tables stand once"]),
    "unclosed quote": (
        f'{ENV}description = "',
        ["end of file: unterminated string"],
        ["close the last quote"],
    ),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_configs_name_place_and_fix(name: str, tmp_path: Path) -> None:
    text, places, advices = MALFORMED[name]
    problems = problems_of(tmp_path, text)
    assert len(problems) == len(places), problems
    for place, advice, problem in zip(places, advices, problems, strict=True):
        assert problem.startswith(place)
        assert advice in problem


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ({"runtime": None}, "runtime = null: must be a table"),
        ({"learning": {"gamma": None}}, "learning.gamma = null: must be a number"),
        ({"env": {"name": "a", "options": {"x": {"y": [None]}}}}, "env.options.x: null"),
        ({"env": {"name": "a", "options": {"x": [[[[1]]]]}}}, "env.options.x: more than 3 levels"),
        ({"env": {"name": "a", "options": {"x": {"y": [{"z": {}}]}}}}, "env.options.x: more than"),
    ],
)
def test_what_no_file_could_say_is_refused_in_a_table_of_json(
    table: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        config_from_table({"env": {"name": "a"}, **table}, "config")
    assert refused.value.problems[0].startswith(problem)


def test_options_of_three_levels_are_taken() -> None:
    options = {"x": {"y": [{"z": 1}]}}
    config = config_from_table({"env": {"name": "a", "options": options}}, "config")
    assert config.env.options == options


def test_all_problems_are_listed_at_once(tmp_path: Path) -> None:
    text = (
        f"{ENV}[learning]\ngamma = 2\nlerning_rate = 1\nbatch_steps = 2050\n[model]\ncore "
        '= "x"\n[pbt]\nentropy_coef_bounds = [2, 1]'
    )
    problems = problems_of(tmp_path, text, "seed=-1", "nonsense", "learning.epochs=0")
    starts = (
        "--set nonsense",
        "--set seed = -1",
        "--set learning.epochs = 0",
        "learning.gamma",
        "learning.lerning_rate",
        "model.core",
        "learning.batch_steps",
        "pbt.entropy_coef_bounds",
    )
    assert len(problems) == len(starts)
    for start in starts:
        assert any(problem.startswith(start) for problem in problems), start


def test_a_contradiction_with_a_refused_value_is_not_guessed_at(tmp_path: Path) -> None:
    (problem,) = problems_of(
        tmp_path, f"{ENV}[learning]\nbatch_steps = 100\n[sampling]\nrollout_steps = 0"
    )
    assert problem.startswith("sampling.rollout_steps = 0")


@pytest.mark.parametrize(
    ("override", "reason"),
    [
        ("seed", "no value"),
        ("seed=", "no value"),
        ("=3", "is not a key"),
        ("a b=3", "is not a key"),
        ("seed.x=3", "seed is not a table"),
        ("model.hidden=[1,", "not a TOML value"),
        ("seed=1\nstop_at_frames=2", "more than one value"),
        ("learning.gama=0.9", "did you mean gamma?"),
    ],
)
def test_malformed_overrides(override: str, reason: str, tmp_path: Path) -> None:
    (problem,) = problems_of(tmp_path, f"seed = 1\n{ENV}", override)
    assert problem.startswith("--set") and reason in problem


def test_overrides_are_toml_values_or_bare_words(tmp_path: Path) -> None:
    overrides = [
        "seed=7",
        "model.core=gru",
        "learning.gamma=0.5",
        "model.hidden=[8, 8]",
        "env.options={ rows = 6 }",
        "pbt.enabled=false",
        'description="a=b"',
    ]
    config = load_config(write(tmp_path, ENV), [*overrides, "learning.shaping.win=2.0"])
    assert (config.seed, config.model.core, config.learning.gamma, config.model.hidden) == (
        7,
        "gru",
        0.5,
        (8, 8),
    )
    assert config.env.options == {"rows": 6}
    assert config.pbt.enabled is False
    assert config.description == "a=b"
    assert config.learning.shaping == {"win": 2.0}


def test_the_last_override_wins_and_the_file_is_not_touched(tmp_path: Path) -> None:
    path = write(tmp_path, f"seed = 1\n{ENV}")
    before = path.read_bytes()
    assert load_config(path, ["seed=2", "seed=3"]).seed == 3
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("typed", "value"), [(".5", 0.5), ("+.25", 0.25), (".5e0", 0.5), ("0.75", 0.75)]
)
def test_a_fraction_may_begin_with_its_point(tmp_path: Path, typed: str, value: float) -> None:
    config = load_config(write(tmp_path, ENV), [f"learning.gamma={typed}"])
    assert config.learning.gamma == value


def test_origins_tell_file_from_override(tmp_path: Path) -> None:
    loaded = read_config(
        write(tmp_path, f"seed = 1\nstop_at_frames = 10\n{ENV}"), ["seed=2", "learning.gamma=0.9"]
    )
    assert loaded.origins == {
        "env.name": "file",
        "stop_at_frames": "file",
        "seed": "--set",
        "learning.gamma": "--set",
    }


def test_a_stored_config_reads_as_itself_with_edits(tmp_path: Path) -> None:
    config = load_config(
        write(
            tmp_path,
            (
                f"{ENV}[members.m1]\nlearning_rate = 0.0\n[model]\nhidden = [8]\nconv = [{{ "
                "channels = 4, kernel = 2 }]"
            ),
        )
    )
    assert config_from_table(config.model_dump(mode="json"), "stored") == config
    assert config_from_table(
        config.model_dump(), "stored", ["stop_at_frames=5"]
    ) == config.model_copy(update={"stop_at_frames": 5})


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)


def known_keys(values: Mapping[str, object], prefix: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    keys: list[tuple[str, ...]] = []
    for name, value in values.items():
        keys += [
            (*prefix, name),
            *(known_keys(value, (*prefix, name)) if isinstance(value, dict) else []),
        ]
    return keys


KEYS = known_keys(RunConfig(env=EnvConfig(name="x"), members={"m0": MemberOverride()}).model_dump())


@given(st.dictionaries(st.sampled_from(KEYS) | st.tuples(st.text(max_size=8)), VALUES, max_size=4))
def test_whatever_is_in_a_config_it_loads_or_every_problem_is_one_line(
    entries: dict[tuple[str, ...], object],
) -> None:
    table: dict[str, object] = {"env": {"name": "x"}}
    for path, value in entries.items():
        section: object = table
        for name in path[:-1]:
            section = section.setdefault(name, {}) if isinstance(section, dict) else None
        if isinstance(section, dict):
            section[path[-1]] = value
    for problem in refusals(table):
        assert "\n" not in problem and ": " in problem


def refusals(table: Mapping[str, object]) -> tuple[str, ...]:
    try:
        config_from_table(table, "any")
    except ConfigError as error:
        return error.problems
    return ()


def test_a_missing_file_names_the_shipped_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = {"demo": tmp_path / "demo.toml", "connect_four": tmp_path / "connect_four.toml"}
    monkeypatch.setattr("pbt.config.load.shipped_configs", lambda: shipped)
    with pytest.raises(
        ConfigError,
        match=(
            r"conect_four: no such file.*did you mean connect_four\?.*shipped: demo, "
            r"connect_four"
        ),
    ):
        load_config("conect_four")
    with pytest.raises(ConfigError, match="a folder; expected a .toml file"):
        load_config(tmp_path)
    assert find_config("demo") == shipped["demo"]


def test_files_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_bytes(b"seed = 1\n\xff\xfe")
    with pytest.raises(ConfigError, match="byte 9: not UTF-8"):
        load_config(path)
    path.write_text("a = " + "[" * 100_000)
    with pytest.raises(ConfigError, match="nested far too deep|line 1|end of file"):
        load_config(path)


def test_shipped_configs_load_and_describe_themselves() -> None:
    assert {"demo", "connect_four"} <= shipped_configs().keys()
    for name in shipped_configs():
        assert load_config(name).description, name


def test_a_stored_config_without_normalised_returns_goes_on_without_them() -> None:
    """What was trained by values of another unit would be thrown away at a resume."""
    config = RunConfig(env=EnvConfig(name="connect_four"))
    assert config.learning.normalize_returns
    stored = config.model_dump(mode="json")
    del stored["learning"]["normalize_returns"]
    assert not config_from_table(stored, "stored").learning.normalize_returns
    assert config_from_table({"env": {"name": "x"}}, "new").learning.normalize_returns


@pytest.mark.parametrize(
    ("batch", "parts"), [(40, 1), (256, 1), (512, 2), (768, 1), (1024, 4), (2048, 8), (4096, 16)]
)
def test_by_default_a_minibatch_has_256_steps_or_more(batch: int, parts: int) -> None:
    table: dict[str, dict[str, Any]] = {"env": {"name": "x"}, "learning": {"batch_steps": batch}}
    table["sampling"] = {"rollout_steps": 8}
    assert config_from_table(table, "test").learning.minibatches == parts
    table["learning"]["minibatches"] = 1
    assert config_from_table(table, "test").learning.minibatches == 1


def test_a_stored_config_of_an_earlier_version_goes_on_by_its_rules() -> None:
    """A whole section without a later key is a stored one; a person's section gets the defaults."""
    stored = load_config("demo").model_copy(update={"pbt": PbtConfig()}).model_dump(mode="json")
    later = ("opponents", "copy_significance", "copy_significance_per", "copy_ratio", "equals_sd")
    for key in (*later, "spread_start"):
        del stored["pbt"][key]
    earlier = PbtRules.from_config(config_from_table(stored, "stored").pbt, "win")
    assert (earlier.copy_gap, earlier.copy_significance) == (0.35, 1.0)
    assert (earlier.copy_significance_per, earlier.equals_sd) == ("comparison", 0.0)
    by_margin = PbtRules.from_config(config_from_table(stored, "stored").pbt, "margin")
    assert (by_margin.copy_significance, by_margin.copy_significance_per) == (0.01, "comparison")
    assert config_from_table(stored, "stored").pbt.opponents == "all"
    assert config_from_table(stored, "stored", ["pbt.opponents=common"]).pbt.opponents == "common"
    assert (
        config_from_table({"env": {"name": "x"}, "pbt": {"min_games": 5}}, "written").pbt.opponents
        == "common"
    )
    today = RunConfig.model_validate({"env": {"name": "x"}})
    assert config_from_table(today.model_dump(mode="json"), "stored") == today
