"""The file `config.json` in a population's folder holds the population's resolved config."""

from arena.data.paths import PopulationPaths
from pbt.config.schema import RunConfig
from pbt.files import write_whole


def write_config(paths: PopulationPaths, config: RunConfig) -> None:
    """Writes the file whole or not at all."""
    write_whole(paths.config, config.model_dump_json(indent=1))
