"""What a start builds, said in one line."""

from pbt.config.schema import RunConfig
from pbt.envs.contract import EnvSpec, Remarking
from pbt.runtime.blueprint import game_layouts, game_maker, network_dtype


def start_line(config: RunConfig, spec: EnvSpec) -> str:
    """config: resolved. Such as "placement inline, 2 workers, 64 environments; networks compute
    in bfloat16".
    """
    runtime = config.runtime
    processes = {"workers": runtime.workers if runtime.placement != "serial" else 0}
    if runtime.placement == "central":
        processes |= {"policy servers": runtime.servers, "learners": runtime.learners}
    parts = [
        f"placement {runtime.placement}",
        *(f"{count} {_singular(name, count)}" for name, count in processes.items() if count),
    ]
    parts.append(f"{config.sampling.environments} environments")
    clauses = [
        ", ".join(parts),
        f"networks compute in {' and '.join(precisions(config, spec))}",
        remark(config, spec),
    ]
    return "; ".join(filter(None, clauses))


def precisions(config: RunConfig, spec: EnvSpec) -> list[str]:
    """Of the networks of all roles, each named once. Makes a game to look at."""
    game = game_maker(config, spec)()
    names = [
        str(network_dtype(config, layout)).removeprefix("torch.")
        for layout in game_layouts(game, config)
    ]
    game.close()
    return list(dict.fromkeys(names))


def remark(config: RunConfig, spec: EnvSpec) -> str:
    """What the game has to say, "" where that is nothing. Makes a game to ask."""
    game = game_maker(config, spec)()
    said = game.remark() if isinstance(game, Remarking) else ""
    game.close()
    return said


def _singular(name: str, count: object) -> str:
    return name.removesuffix("s") if count == 1 else name
