"""The config of a population, as its folder holds it."""

from arena.data.paths import PopulationPaths
from pbt.config.schema import RunConfig
from pbt.files import write_whole


def write_config(paths: PopulationPaths, config: RunConfig) -> None:
    """Whole or not at all."""
    write_whole(paths.config, config.model_dump_json(indent=1))
