"""What a match measures of two networks is what OpenSpiel computes from the whole game tree."""

from pathlib import Path
from typing import Any

import pyspiel
from open_spiel.python.algorithms.expected_game_score import policy_value
from open_spiel.python.policy import TabularPolicy

from arena.matches.play import play_match
from arena.players.information_states import InformationStates
from arena.players.policies import load_policy
from arena.players.resolve import ResolvedPlayer, resolve_players
from pbt.envs.contract import EnvSpec
from pbt.inference.policy_server import NetworkPolicy
from pbt.transport.slab import role_layout
from tests.arena.players.openspiel_tables import as_openspiel
from tests.arena.tiny_populations import UNRATED, train

# A network whose first weights already prefer some actions to others.
KUHN: dict[str, Any] = {
    **UNRATED,
    "env": {"name": "openspiel:kuhn_poker"},
    "model": {"hidden": [16], "policy_gain": 4.0},
}


def exact(states: InformationStates, player: ResolvedPlayer, env: EnvSpec) -> TabularPolicy:
    """All action probabilities of a player; those of `random` are equal."""
    tabular = TabularPolicy(states.game)
    if player.config is not None:
        game = env.make(**player.env_options)
        hosted = load_policy(player, role_layout(game.roles[0], game.reward_terms, 1, 0), env)
        assert isinstance(hosted, NetworkPolicy)
        tabular = as_openspiel(states, states.policy_of(hosted.model))
    return tabular


def test_the_margin_of_a_match_is_the_value_of_the_game_tree(tmp_path: Path) -> None:
    train(tmp_path, "kuhn", KUHN)
    states = InformationStates(pyspiel.load_game("kuhn_poker"))
    env, players = resolve_players(["kuhn/m0@0", "kuhn/m1@0", "random"], tmp_path)
    policies = [exact(states, player, env) for player in players]
    start = states.game.new_initial_state()
    expected = []
    for i, j in ((0, 1), (0, 2), (1, 2)):
        result = play_match(players[i], players[j], games=2000, env=env)
        first, second = (
            policy_value(start, [policies[a], policies[b]]) for a, b in ((i, j), (j, i))
        )
        expected.append((first[0] + second[1]) / 2)
        margin = result.margin
        assert result.plan.objective == "margin" and margin is not None
        assert margin.low is not None and margin.high is not None
        width = margin.high - margin.low
        assert width < 0.2
        # Twice as wide as the interval of 95 %.
        assert margin.low - width / 2 < expected[-1] < margin.high + width / 2
    assert max(map(abs, expected)) > 0.1
