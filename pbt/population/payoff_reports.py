"""Reports of payoffs: the matchmaker is told what win rates members may expect against snapshots.

Only some modes of matchmaking ask for payoffs. In the others every call here does nothing.
"""

from pbt.config.population import MatchmakingConfig
from pbt.matchmaking.payoffs import payoff_source
from pbt.matchmaking.roster import SnapshotEntry
from pbt.population.interfaces import Matchmaker
from pbt.saved import SavedPayoffs
from pbt.transport.messages import GamesOver

# The matchmaker is told new win rates after this many games that changed one.
REPORT_EVERY_GAMES = 100


class PayoffReports:
    """Feeds games to the payoff source of the matchmaking mode and reports its win rates."""

    def __init__(self, config: MatchmakingConfig, matchmaker: Matchmaker) -> None:
        self._source, self._matchmaker = payoff_source(config), matchmaker
        # Games since the last report that changed a win rate.
        self._unreported = 0

    def add_games(self, games: GamesOver, first: int) -> None:
        """Count finished games, and report each time that enough have changed a win rate.

        first: number of the first one
        """
        if self._source is None:
            return
        for record in games.records(first):
            self._unreported += self._source.add(record)
            if self._unreported >= REPORT_EVERY_GAMES:
                self.report()

    def add_snapshot(self, entry: SnapshotEntry) -> None:
        """Add an opponent, and report."""
        if self._source is not None:
            self._source.add_snapshot(entry)
            self.report()

    def copied(self, member: str, donor: str, generation: int) -> None:
        """Give a member the donor's win rates from this generation on; the caller reports."""
        if self._source is not None:
            self._source.copied(member, donor, generation)

    def report(self) -> None:
        """Tell the matchmaker the present win rates."""
        if self._source is not None:
            self._unreported = 0
            roster = self._matchmaker.roster.with_win_rates(self._source.win_rates())
            self._matchmaker.roster = roster

    def state(self) -> SavedPayoffs | None:
        """Return the payoffs for a checkpoint, None where the mode has none."""
        if self._source is None:
            return None
        return SavedPayoffs(self._unreported, self._source.state())

    def load(self, state: SavedPayoffs | None) -> None:
        """Take over what `state` returned.

        Payoffs of another mode say nothing about this one: every win rate is unknown again.
        """
        if self._source is None:
            return
        if state is not None and self._source.load(state.source):
            self._unreported = state.untold
        else:
            self._matchmaker.roster = self._matchmaker.roster.with_win_rates({})
