"""Exploitability against known values, and mixtures against what mixing means."""

import numpy as np
import pyspiel
import pytest
import torch
from open_spiel.python.algorithms import best_response
from open_spiel.python.algorithms.expected_game_score import policy_value
from open_spiel.python.algorithms.policy_aggregator import PolicyAggregator

from arena.players.chances import answers
from arena.players.information_states import InformationStates, Table
from pbt.config.learning import ModelConfig
from pbt.envs.registry import spec
from pbt.errors import EnvError
from pbt.models.policy_model import PolicyModel, build_model
from pbt.seeding import generator
from pbt.transport.slab import role_layout
from tests.arena.players.openspiel_tables import as_openspiel
from tests.pbt.models.memories import MEMORIES, memory


@pytest.fixture(scope="module")
def kuhn() -> InformationStates:
    return InformationStates(pyspiel.load_game("kuhn_poker"))


@pytest.fixture(scope="module")
def leduc() -> InformationStates:
    return InformationStates(pyspiel.load_game("leduc_poker"))


def some_policies(states: InformationStates, number: int, seed: int = 1) -> list[Table]:
    """Random ones, some of them with actions that are never chosen."""
    rng = generator(seed, "policies")
    found = []
    for _ in range(number):
        weights = (
            rng.exponential(size=states.legal.shape) * (rng.random(states.legal.shape) < 0.7) + 1e-9
        )
        weights = np.where(weights > 1e-6, weights, 0.0) * states.legal
        none = weights.sum(axis=1) == 0
        weights[none] = states.legal[none]
        found.append(weights / weights.sum(axis=1, keepdims=True))
    return found


def test_uniform_play_costs_what_is_known(
    kuhn: InformationStates, leduc: InformationStates
) -> None:
    """NashConv 11/12 and 4.747222 (Lanctot et al. 2017)."""
    assert kuhn.exploitability(kuhn.uniform()) == pytest.approx(11 / 24, abs=1e-9)
    assert leduc.exploitability(leduc.uniform()) == pytest.approx(4.747222 / 2, abs=1e-6)


@pytest.mark.parametrize("alpha", [0.0, 0.2, 1 / 3])
def test_an_equilibrium_of_kuhn_poker_cannot_be_exploited(
    kuhn: InformationStates, alpha: float
) -> None:
    """The family of Kuhn 1950."""
    equilibrium = kuhn.table_of(pyspiel.kuhn_poker.get_optimal_policy(alpha))
    assert kuhn.exploitability(equilibrium) == pytest.approx(0.0, abs=1e-9)


def test_cfr_comes_close_to_an_equilibrium_of_leduc_poker(leduc: InformationStates) -> None:
    solver = pyspiel.CFRPlusSolver(leduc.game)
    found = []
    for iterations in (3, 17):
        for _ in range(iterations):
            solver.evaluate_and_update_policy()
        found.append(leduc.exploitability(leduc.table_of(solver.average_policy())))
    assert found[1] < 0.2 < found[0]


@pytest.mark.parametrize("seed", range(3))
def test_exploitability_is_openspiels_by_its_other_best_response(
    kuhn: InformationStates, seed: int
) -> None:
    """OpenSpiel has a second best response, in Python. Here it answers each seat by itself."""
    (policy,) = some_policies(kuhn, 1, seed)
    tabular = as_openspiel(kuhn, policy)
    answered = 0.0
    for seat in range(2):
        answer = best_response.BestResponsePolicy(kuhn.game, seat, tabular)
        both = [tabular, answer] if seat == 1 else [answer, tabular]
        answered += policy_value(kuhn.game.new_initial_state(), both)[seat]
    assert kuhn.exploitability(policy) == pytest.approx(answered / 2, abs=1e-9)
    assert kuhn.exploitability(policy) > 0.05


def value(states: InformationStates, first: Table, second: Table) -> float:
    """Return of seat 0, by walking the whole tree."""

    def below(state: pyspiel.State) -> float:
        if state.is_terminal():
            return float(state.returns()[0])
        if state.is_chance_node():
            return float(
                sum(
                    chance * below(state.child(action))
                    for action, chance in state.chance_outcomes()
                )
            )
        row = (first, second)[state.current_player()][states.index(state)]
        return float(
            sum(
                row[action] * below(state.child(action))
                for action in state.legal_actions()
                if row[action]
            )
        )

    return below(states.game.new_initial_state())


def test_a_mixture_wins_what_its_policies_win_on_average(kuhn: InformationStates) -> None:
    rng = generator(2, "weights")
    for seed in range(50):
        *policies, opponent = some_policies(kuhn, 4, seed)
        weights = rng.dirichlet(np.ones(3))
        mixed = kuhn.mixture(policies, list(weights))
        assert mixed.sum(axis=1) == pytest.approx(1.0) and not mixed[~kuhn.legal].any()
        assert value(kuhn, mixed, opponent) == pytest.approx(
            sum(w * value(kuhn, p, opponent) for w, p in zip(weights, policies, strict=True))
        )
        assert value(kuhn, opponent, mixed) == pytest.approx(
            sum(w * value(kuhn, opponent, p) for w, p in zip(weights, policies, strict=True))
        )


def test_a_mixture_is_not_the_mean_of_action_probabilities(leduc: InformationStates) -> None:
    policies = some_policies(leduc, 3)
    assert np.abs(leduc.mixture(policies) - np.mean(policies, axis=0)).max() > 0.1


def test_mixtures_equal_openspiels(leduc: InformationStates) -> None:
    policies = some_policies(leduc, 3)
    tabular = [as_openspiel(leduc, policy) for policy in policies]
    weights = [0.2, 0.5, 0.3]
    theirs = PolicyAggregator(leduc.game).aggregate([0, 1], [tabular, tabular], [weights, weights])
    ours, compared = leduc.mixture(policies, weights), 0
    for state in tabular[0].states:
        index = leduc.index(state)
        if sum(w * leduc.reach(p)[index] for w, p in zip(weights, policies, strict=True)) > 0:
            found = theirs.action_probabilities(state)
            assert [found.get(action, 0.0) for action in range(3)] == pytest.approx(
                ours[index], abs=1e-9
            )
            compared += 1
    assert compared > 500


def test_the_table_of_a_network_is_what_it_plays(leduc: InformationStates) -> None:
    model = network("none", 0)
    table = leduc.policy_of(model)
    rows = len(leduc.legal)
    uniforms = torch.rand(rows, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    seen, legal, starts = (
        torch.from_numpy(leduc.tensors),
        torch.from_numpy(leduc.legal),
        torch.ones(rows, dtype=torch.bool),
    )
    with torch.inference_mode():
        acted = model.act({"observation": seen}, legal, starts, torch.zeros(rows, 0), uniforms)
    assert np.log(table[np.arange(rows), acted.actions[:, 0]]) == pytest.approx(
        acted.columns["log_prob"].numpy(), abs=1e-5
    )
    assert table.std(axis=0).max() > 0.05


def network(core: str, size: int) -> PolicyModel:
    game = spec("openspiel:leduc_poker").make()
    layout = role_layout(game.roles[0], game.reward_terms, 1, size)
    return build_model(
        layout, ModelConfig(hidden=(16,), policy_gain=3.0, **memory(core, size)), seed=1
    )


@pytest.mark.parametrize("core", MEMORIES)
def test_a_network_with_memory_remembers_its_own_decisions(
    leduc: InformationStates, core: str
) -> None:
    """The twin walks through the game, and keeps a memory for each seat."""
    model = network(core, 8)
    table, met = leduc.policy_of(model), set[int]()
    uniforms = torch.zeros(1, 1, dtype=torch.float64)

    def walk(state: pyspiel.State, memories: list[torch.Tensor], acted: list[bool]) -> None:
        if state.is_terminal():
            return
        if state.is_chance_node():
            # Every other card is enough: there are two of each rank.
            for card in state.legal_actions()[::2]:
                walk(state.child(card), memories, acted)
            return
        seat, row = state.current_player(), leduc.index(state)
        said = model.act(
            {"observation": torch.from_numpy(leduc.tensors[row][None])},
            torch.from_numpy(leduc.legal[row][None]),
            torch.tensor([not acted[seat]]),
            memories[seat],
            uniforms,
        )
        action = int(said.actions[0, 0])
        chance = float(said.columns["log_prob"][0])
        assert np.log(table[row, action]) == pytest.approx(chance, abs=1e-5)
        met.add(row)
        after = [said.state if one == seat else memories[one] for one in range(2)]
        for taken in state.legal_actions():
            walk(state.child(taken), after, [acted[one] or one == seat for one in range(2)])

    with torch.inference_mode():
        walk(leduc.game.new_initial_state(), [torch.zeros(1, model.state_size)] * 2, [False] * 2)
    assert len(met) > 100
    # The memory counts: without it the same weights say something else.
    alone = answers(
        model,
        {"observation": leduc.tensors[None]},
        leduc.legal[None],
        np.ones((1, len(table)), np.bool_),
    )
    assert np.abs(alone.chances - table).max() > 0.05


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("kuhn_poker", {"players": 3}, "has 3 players; expected a game of two"),
        ("bargaining", {}, "expected a zero-sum game"),
        ("goofspiel", {}, "both players move at once"),
    ],
)
def test_games_without_exploitability_are_refused(
    name: str, options: dict[str, int], message: str
) -> None:
    with pytest.raises(EnvError, match=message):
        InformationStates(pyspiel.load_game(name, options))


def test_a_larger_game_is_refused(kuhn: InformationStates) -> None:
    assert kuhn.histories == InformationStates(kuhn.game, kuhn.histories).histories
    with pytest.raises(EnvError, match=r"more than \d+ histories; expected a smaller game"):
        InformationStates(kuhn.game, kuhn.histories - 1)
