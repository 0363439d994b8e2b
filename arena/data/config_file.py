"""The config of a population, as its folder holds it."""

from arena.data.paths import PopulationPaths
from pbt.config.schema import RunConfig


def write_config(paths: PopulationPaths, config: RunConfig) -> None:
    """Whole or not at all."""
    aside = paths.config.with_suffix(".part")
    aside.write_text(config.model_dump_json(indent=1), encoding="utf-8")
    aside.replace(paths.config)
