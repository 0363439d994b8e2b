"""The bots of a match: the file that describes them to the engines, and what brings them in."""

import os
from collections.abc import Iterable, Sequence

from pbt.envs.doom.bot_curriculum import EASIEST, HARDEST
from pbt.envs.doom.match_options import MatchOptions

_QUALITIES = ("aiming", "perfection", "reaction", "isp")


class MatchBots:
    """Says which bots play the next game.

    file  a descriptor of an unnamed file that describes bots of the skills asked for; None: engines
          have their own. They read it through /proc.
    """

    def __init__(self, options: MatchOptions) -> None:
        self._options, self._skills = options, list[int]()
        self.file: int | None = None
        if not options.bots or options.bot_skill is None:
            return
        numbers = range(1, options.bots + 1)
        if options.bot_curriculum:
            skills = sorted({*range(EASIEST, HARDEST + 1, 10), options.bot_skill})
            described = [(_name(skill, n), skill) for skill in skills for n in numbers]
        else:
            described = [(f"Bot{n}", options.bot_skill) for n in numbers]
        self.file = os.memfd_create("bots.cfg")
        os.write(self.file, _text(described).encode())

    def add(self, skill: int) -> None:
        """Give the next bot of the next game this skill instead of `bot_skill`."""
        self._skills.append(skill)

    def commands(self) -> Sequence[str]:
        """What the host is told for the next game."""
        options, skills = self._options, self._skills
        self._skills = []
        if not options.bots:
            return ()
        if not options.bot_curriculum or options.bot_skill is None:
            return ("removebots", *["addbot"] * options.bots)
        skills += [options.bot_skill] * (options.bots - len(skills))
        names = [_name(skill, number) for number, skill in enumerate(skills, start=1)]
        return ("removebots", *(f"addbot {name}" for name in names))


def _name(skill: int, number: int) -> str:
    return f"Bot{number}of{skill}"


def _text(described: Iterable[tuple[str, int]]) -> str:
    """The file's text. described: the bots' names and skills."""
    return "".join(
        f"{{ name {name} {' '.join(f'{quality} {skill}' for quality in _QUALITIES)} "
        f'color "40 cf 00" skin base }}\n'
        for name, skill in described
    )
