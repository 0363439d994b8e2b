"""The old place of `pbt.envs.testing.check`, kept for one release. Import from there."""

from pbt.envs.testing.check import CheckReport, check_game

__all__ = ["CheckReport", "check_game"]
