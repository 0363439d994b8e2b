"""Games that are played again from their seeds and actions, one after the other in one table."""

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import Any

from arena.league.chain_state import Difference
from arena.league.game_names import NamedGame
from arena.league.game_rows import StoredGame
from arena.matches.replay import played_again
from arena.verification.report import Observer, ReplayReport, VerifyRequest
from pbt.envs import registry
from pbt.envs.contract import EnvSpec, Game
from pbt.envs.measuring import as_played
from pbt.errors import EnvError
from pbt.records import GameRecord, is_voided

PROGRESS_GAMES = 50
# How the differences begin of a game that came to its end.
_OF_RESULTS = ("places:", "returns:", "decisions:", "end:")


def play_games(
    env_name: str,
    env_options: Mapping[str, Any],
    games: Callable[[], Iterator[StoredGame]],
    total: int,
    request: VerifyRequest,
    name: Callable[[GameRecord], str],
    observe: Observer,
) -> tuple[ReplayReport, list[Difference]]:
    """Plays stored games again, all or a random sample, and compares them with what was stored.

    games  reads the stored games, in the same order each time
    total  how many of them were not voided
    name   the name of a game
    """
    asked = request.replay != 0 and total > 0
    try:
        spec = registry.spec(env_name, allow_files=request.allow_files, options=env_options)
        spec = as_played(spec, env_options) if asked else spec
    except EnvError as error:
        return ReplayReport(total, 0, f"{error}"), []
    if not spec.replayable:
        why = f"seed and actions do not give the same game again in {env_name}"
        return ReplayReport(total, 0, f"{why}: attested by digest only"), []
    if not asked:
        return ReplayReport(total, 0, "not asked for" if total else ""), []
    again = _PlayedAgain(spec, env_name, env_options, name)
    with closing(spec.make(**env_options)) as game:
        return again.play(game, games(), _sample(total, request.replay), total, observe)


def _sample(total: int, wanted: int | None) -> set[int] | None:
    """Places of games to play, which no attacker can foresee; None: all."""
    if wanted is None or wanted >= total:
        return None
    return set(random.SystemRandom().sample(range(total), wanted))


class _PlayedAgain:
    def __init__(
        self,
        spec: EnvSpec,
        env_name: str,
        env_options: Mapping[str, Any],
        name: Callable[[GameRecord], str],
    ) -> None:
        self._spec, self._env_name, self._env_options = spec, env_name, env_options
        self._name = name

    def play(
        self,
        game: Game,
        games: Iterator[StoredGame],
        chosen: set[int] | None,
        total: int,
        observe: Observer,
    ) -> tuple[ReplayReport, list[Difference]]:
        """Plays the games whose place is chosen, in `game`. chosen: None for all."""
        found: list[Difference] = []
        stored = played = 0
        for record in (one.record for one in games if one.record.actions is not None):
            if is_voided(record.end_reason):
                found += self.voided_wrongly(game, record)
                continue
            stored += 1
            if chosen is None or stored - 1 in chosen:
                played += 1
                found += self.differences(game, record)
                if played % PROGRESS_GAMES == 0:
                    observe("games played again", played, len(chosen) if chosen else total)
        why = "" if played == stored else "a random sample"
        return ReplayReport(stored, played, why), found

    def differences(self, game: Game, record: GameRecord) -> Iterator[Difference]:
        try:
            problems = played_again(self._named(record), game)
        except EnvError as error:
            problems = (f"cannot be played again: {error}",)
        for problem in problems:
            yield Difference(f"game {self._name(record)}", problem)

    def voided_wrongly(self, game: Game, record: GameRecord) -> Iterator[Difference]:
        """The difference of a voided game whose actions play it to its end."""
        try:
            problems = played_again(self._named(record), game)
        except EnvError:
            return
        if all(problem.startswith(_OF_RESULTS) for problem in problems):
            where = f"game {self._name(record)}"
            yield Difference(where, "a voided game, but its actions play it to its end")

    def _named(self, record: GameRecord) -> NamedGame:
        return NamedGame(self._name(record), self._env_name, self._env_options, record, {})
