"""A config beside the template that it is nearest to. Pure."""

from arena.report.records import ConfigFacts
from pbt.config.difference import defaults_of, differences, templates_of
from pbt.config.dump import to_toml
from pbt.config.schema import RunConfig


def config_facts(config: RunConfig) -> ConfigFacts:
    """The config in force, and what it sets."""
    beside, other = next(iter(templates_of(config).items()), (None, defaults_of(config)))
    return ConfigFacts(beside, tuple(differences(config, other)), to_toml(config))
