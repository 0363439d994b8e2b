"""Tables of policies as OpenSpiel's own policies, whose rows stand in another order."""

from open_spiel.python.policy import TabularPolicy

from arena.players.information_states import InformationStates, Table


def as_openspiel(states: InformationStates, table: Table) -> TabularPolicy:
    policy = TabularPolicy(states.game)
    for key, row in states.rows.items():
        policy.action_probability_array[policy.state_lookup[key]] = table[row]
    return policy
