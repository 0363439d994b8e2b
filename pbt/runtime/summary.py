"""A summary, in one line, of what a start builds."""

from pbt.config.schema import RunConfig
from pbt.envs.contract import EnvSpec, Game, Remarking
from pbt.objective import OBJECTIVE_WORDS
from pbt.runtime.blueprint import game_layouts, game_maker, game_objective, network_dtype
from pbt.runtime.pacing import new_pacing


def start_line(config: RunConfig, spec: EnvSpec) -> str:
    """Return the line for a resolved configuration, after making one game to look at.

    It reads "placement inline, 2 workers, 64 environments; networks compute in bfloat16; ranked by
    the win rate".
    """
    runtime = config.runtime
    processes = {"workers": runtime.workers if runtime.placement != "serial" else 0}
    if runtime.placement == "central":
        processes |= {"policy servers": runtime.servers, "learners": runtime.learners}
    parts = [
        f"placement {runtime.placement}",
        new_pacing(config).words,
        *(f"{count} {_singular(name, count)}" for name, count in processes.items() if count),
        f"{config.sampling.environments} environments",
    ]
    game = game_maker(config, spec)()
    formats = " and ".join(precisions(config, game))
    remark = game.remark() if isinstance(game, Remarking) else ""
    ranked = f"ranked by the {OBJECTIVE_WORDS[game_objective(config, spec, game)].number}"
    game.close()
    clauses = [", ".join(filter(None, parts)), f"networks compute in {formats}", ranked, remark]
    return "; ".join(filter(None, clauses))


def precisions(config: RunConfig, game: Game) -> list[str]:
    """Return the number formats of all roles' networks."""
    dtypes = dict.fromkeys(network_dtype(config, layout) for layout in game_layouts(game, config))
    return [str(dtype).removeprefix("torch.") for dtype in dtypes]


def _singular(name: str, count: object) -> str:
    return name.removesuffix("s") if count == 1 else name
