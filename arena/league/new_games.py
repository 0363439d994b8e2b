"""How many games each population's newest start has stored since the last look."""

from dataclasses import dataclass

from sqlalchemy import text

from arena.league.database import League
from arena.league.schema import EVALUATION, keys_of_start

_NEWEST_STARTS = text("""
SELECT p.name, MAX(i.id) AS start FROM populations p
JOIN incarnations i ON i.population_id = p.id GROUP BY p.id
""")
# Keys are row numbers, so only the new games are read.
_LAST = text("""
SELECT MAX(last) FROM (
    SELECT MAX(id) AS last FROM games WHERE id BETWEEN :first AND :last
    UNION ALL SELECT MAX(last) FROM game_blocks WHERE id BETWEEN :first AND :last
)
""")
_COUNTS = text("""
SELECT kind, voided, COUNT(*), MAX(id) FROM games WHERE id > :after AND id <= :last
GROUP BY kind, voided
UNION ALL SELECT 0, 1, SUM(voided), MAX(last) FROM game_blocks
WHERE id > :after AND id <= :last HAVING SUM(voided) > 0
UNION ALL SELECT 0, 0, SUM(count - voided), MAX(last) FROM game_blocks
WHERE id > :after AND id <= :last HAVING COUNT(*) > 0
""")


@dataclass(frozen=True, slots=True)
class GameCounts:
    """How many games were stored.

    training    games that train
    evaluation  games that are rated
    voided      games that count for nothing
    """

    training: int = 0
    evaluation: int = 0
    voided: int = 0


class NewGames:
    """Counts games as they come. Games that were there at the first look are not counted."""

    def __init__(self, league: League) -> None:
        self._league = league
        # Population -> (its newest start, the key of the last game that was counted).
        self._seen: dict[str, tuple[int, int]] = {}
        self._looked = False

    def look(self) -> dict[str, GameCounts]:
        """Population -> its new games, for every population that was started once."""
        with self._league.read() as connection:
            found = {}
            for name, start in connection.execute(_NEWEST_STARTS).all():
                first, last = keys_of_start(start)
                seen_start, after = self._seen.get(name, (None, None))
                if seen_start != start or after is None:
                    # A start that begins under the eyes of this counter counts from its first game.
                    after = first - 1
                    if not self._looked:
                        bounds = {"first": first, "last": last}
                        after = connection.execute(_LAST, bounds).scalar() or after
                rows = connection.execute(_COUNTS, {"after": after, "last": last}).all()
                voided = sum(count for _, is_voided, count, _ in rows if is_voided)
                rated = sum(
                    count for kind, gone, count, _ in rows if kind == EVALUATION and not gone
                )
                total = sum(count for _, _, count, _ in rows)
                found[name] = GameCounts(total - voided - rated, rated, voided)
                newest = max((newest for *_, newest in rows), default=after)
                self._seen[name] = (start, newest)
        self._looked = True
        return found
