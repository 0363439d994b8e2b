"""The shipped configurations of Doom are what they say: whose values, and that PBT can act."""

from math import ceil

import pytest

from pbt.config.load import load_config, shipped_configs
from pbt.config.schema import RunConfig
from pbt.envs.doom.match_options import MatchOptions, read_match_options
from pbt.envs.doom.match_rewards import MatchRewards
from pbt.envs.doom.scene import known

CONFIGS: dict[str, RunConfig] = {
    name: load_config(path) for name, path in shipped_configs().items() if name.startswith("doom_")
}
MATCHES = [name for name, config in CONFIGS.items() if config.env.name == "doom_match"]
DUELS = ["doom_duel", "doom_duel_8"]
AFTER_THE_PAPER = ["doom_deathmatch_bots", "doom_duel_8"]


def match_options(name: str) -> MatchOptions:
    return read_match_options(CONFIGS[name].env.options, known())


@pytest.mark.parametrize("name", [name for name in CONFIGS if CONFIGS[name].pbt.enabled])
def test_a_population_that_holds_rounds_can_copy_before_it_ends(name: str) -> None:
    config = CONFIGS[name]
    pbt, members = config.pbt, config.population.members
    assert isinstance(members, int)
    assert members >= 3 and ceil(pbt.top_share * members) * 2 <= members
    first = ceil(max(1, pbt.warmup_frames) / pbt.period_frames) * pbt.period_frames
    assert first < config.stop_at_frames
    assert pbt.period_frames / match_options(name).max_tics >= pbt.min_games


@pytest.mark.parametrize("name", AFTER_THE_PAPER)
def test_a_file_that_names_the_paper_has_its_population_and_values(name: str) -> None:
    config = CONFIGS[name]
    assert (config.population.members, config.stop_at_frames) == (8, 2_500_000_000)
    assert config.pbt.period_frames == 5_000_000
    assert (config.pbt.top_share, config.pbt.mutation_probability) == (0.3, 0.15)
    assert config.pbt.mutation_factor == 1.2
    learning, options = config.learning, match_options(name)
    assert (learning.learning_rate, learning.batch_steps, learning.epochs) == (1e-4, 2048, 1)
    assert (learning.adam_beta1, learning.adam_beta2, learning.adam_eps) == (0.9, 0.999, 1e-6)
    assert (learning.gamma, learning.max_grad_norm, learning.ratio_clip) == (0.995, 4.0, 1.1)
    assert (learning.vtrace_rho, learning.vtrace_c, learning.gae_lambda) == (1.0, 1.0, 1.0)
    assert (learning.entropy_coef, learning.value_coef) == (0.003, 0.5)
    # In rewards, as in the code.
    assert (learning.value_clip, learning.normalize_returns) == (0.2, False)
    assert config.sampling.rollout_steps == 32
    model = config.model
    assert (model.hidden, model.measurement_hidden) == ((512,), (128, 128))
    assert (model.core, model.state_size) == ("gru", 512)
    assert (options.frame_skip, options.max_tics, options.buttons) == (2, 4 * 60 * 35, "full")


@pytest.mark.parametrize("name", AFTER_THE_PAPER)
def test_a_file_that_names_the_paper_has_the_rules_and_rewards_of_its_code(name: str) -> None:
    options = match_options(name)
    assert (options.spawn_protection, options.hud) == (True, True)
    terms = {term.name: term for term in options.terms}
    assert {"health_gain", "health_loss", "armor_gain", "armor_loss"} <= terms.keys()
    assert terms["weapon"].held == (2e-4, 2e-4, 1e-3, 1e-3, 1e-3, 2e-3, 2e-3)
    against_bots = options.reward == "frags"
    assert options.bot_curriculum == against_bots
    assert options.bot_skill == (100 if against_bots else None)


@pytest.mark.parametrize("name", MATCHES)
def test_a_suicide_costs_what_the_file_says(name: str) -> None:
    options = match_options(name)
    counted = MatchRewards(options)
    before = [[0.0] * len(counted.names) for _ in range(options.players)]
    now = [list(row) for row in before]
    for row in now:
        row[counted.column["PLAYER1_FRAGCOUNT"]] = -1.0
    for variable, value in {"FRAGCOUNT": -1.0, "DEATHCOUNT": 1.0, "DEAD": 1.0}.items():
        now[0][counted.column[variable]] = value
    rewards = counted.rewards(now, before)
    suicide = {"doom_deathmatch_bots": -2.25, "doom_duel_bots": -1.75}
    assert sum(rewards[0]) == suicide.get(name, -1.0)
    assert all(sum(seat) == 1.0 for seat in rewards[1:])


@pytest.mark.parametrize("name", DUELS)
def test_rows_of_a_duel_have_an_age_at_which_they_are_dropped(name: str) -> None:
    assert CONFIGS[name].learning.max_lag == 20


def test_the_papers_duel_is_played_by_live_members_only() -> None:
    config = CONFIGS["doom_duel_8"]
    assert config.matchmaking.past_share == 0.0
    assert config.pbt.copy_gap == 0.35


@pytest.mark.parametrize("name", MATCHES)
def test_being_killed_costs_once(name: str) -> None:
    options = match_options(name)
    counted = MatchRewards(options)
    before = [[0.0] * len(counted.names) for _ in range(options.players)]
    now = [list(row) for row in before]
    # Seat 0 is killed by player 2.
    for row in now:
        row[counted.column["PLAYER2_FRAGCOUNT"]] = 1.0
    for variable in ("DEATHCOUNT", "DEAD"):
        now[0][counted.column[variable]] = 1.0
    for killer in now[1:]:
        killer[counted.column["FRAGCOUNT"]] = 1.0
    rewards = counted.rewards(now, before)
    # Bots learn nothing from a death, and being killed by one takes no frag.
    assert sum(rewards[0]) == (-1.0 if options.reward == "lead" else -0.75)
    assert all(sum(seat) == 1.0 for seat in rewards[1:])
