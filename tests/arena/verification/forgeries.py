"""Thirty forgeries of a league: each alters rows or files past every check of the program."""

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import msgspec

from arena.data.paths import league_path, population_paths
from arena.league.chain import ChainContent, chain_of_match, chain_of_population
from arena.league.compaction import FOLD
from arena.league.database import open_league
from arena.league.game_choice import GameFilter
from arena.league.game_rows import population_games
from arena.league.rows import to_json
from pbt.population.pbt_decision import decide
from pbt.population.pbt_rules import PbtRules
from pbt.records import GameRecord, MemberScore
from tests.arena.league.altering import alter_blocks
from tests.arena.verification.forging import execute, rechain
from tests.arena.verification.made import NAME
from tests.pbt.population.rounds import score_games

Forge = Callable[[Path], None]
POPULATION, MATCH = 1, 1
# Games of one seat each against random, which is the second player or the first.
WITH_RANDOM = """
SELECT g.id FROM games g JOIN game_seats s ON s.game_id = g.id JOIN players p ON p.id = s.player_id
WHERE g.kind = 1 AND g.match_id IS NULL AND g.voided = 0 AND p.name = 'random'
"""


def _rounds(data: Path) -> list[dict[str, Any]]:
    columns = ("id", "member", "round", "frames", "scores", "hyperparams", "rules", "seed")
    query = f"SELECT {', '.join(columns)} FROM rounds WHERE superseded = 0 ORDER BY id"
    found = [dict(zip(columns, row, strict=True)) for row in execute(data, query)]
    read = ("scores", "hyperparams", "rules")
    return [{**row, **{name: json.loads(row[name]) for name in read}} for row in found]


def _in_rows(data: Path, query: str) -> list[int]:
    return [row[0] for row in execute(data, query)]


def _turn(data: Path, games: list[int]) -> None:
    """The winner of games of two seats loses them: places and returns are exchanged."""
    for game in games:
        (a, b), (c, d) = execute(
            data, "SELECT place, returns FROM game_seats WHERE game_id = ? ORDER BY seat", game
        )
        for seat, place, value in ((0, c, d), (1, a, b)):
            execute(
                data,
                "UPDATE game_seats SET place = ?, returns = ? WHERE game_id = ? AND seat = ?",
                place,
                value,
                game,
                seat,
            )


def _exchange_players(data: Path, game: int) -> None:
    (first,), (second,) = execute(
        data, "SELECT player_id FROM game_seats WHERE game_id = ? ORDER BY seat", game
    )
    for seat, player in ((0, second), (1, first)):
        execute(
            data,
            "UPDATE game_seats SET player_id = ? WHERE game_id = ? AND seat = ?",
            player,
            game,
            seat,
        )


def _standing(data: Path) -> list[GameRecord]:
    """The training games that count, by number."""
    with open_league(league_path(data), read_only=True) as league:
        games = population_games(league, NAME, GameFilter("training", voided=False))
        return sorted((one.record for one in games), key=lambda record: record.number)


def _alter(data: Path, old: GameRecord, *new: GameRecord) -> None:
    """Put other games, or none, in the place of a training game."""

    def edit(records: list[GameRecord]) -> list[GameRecord]:
        return [one for record in records for one in (new if record == old else (record,))]

    with open_league(league_path(data)) as league:
        alter_blocks(league, edit)


def _turned(record: GameRecord) -> GameRecord:
    """The game with places and returns of its two seats exchanged."""
    a, b = record.seats
    first = replace(a, place=b.place, returns=b.returns)
    return replace(record, seats=(first, replace(b, place=a.place, returns=a.returns)))


# --- rows altered, chain not recomputed -----------------------------------------------------------


def window_cherry_picked(data: Path) -> None:
    """A score counts only the newer half of its window, and the round is decided again from it."""
    row = next(row for row in reversed(_rounds(data)) if _own(row)["games"] > 20)
    rules, own = PbtRules.from_mapping(row["rules"]), _own(row)
    with open_league(league_path(data), read_only=True) as league:
        wanted = GameFilter(
            "training", (own["member"],), own["first_game"], own["last_game"], False
        )
        counted = [stored.record for stored in population_games(league, NAME, wanted)]
    half = score_games(own["member"], counted[len(counted) // 2 :], rules.objective, rules.detail)
    assert own["games"] > half.games > 5
    scores = [
        half if score is own else msgspec.convert(score, MemberScore) for score in row["scores"]
    ]
    decision = decide(
        row["member"], row["round"], row["frames"], scores, row["hyperparams"], rules, row["seed"]
    )
    copied = None
    if decision.copy_from is not None:
        (copied,) = _in_rows(
            data, f"SELECT snapshot_id FROM snapshots WHERE member = '{decision.copy_from}' LIMIT 1"
        )
    directive = decision.directive(row["member"], row["round"], copied)
    execute(
        data,
        "UPDATE rounds SET scores = ?, verdict = ?, directive = ? WHERE id = ?",
        to_json([asdict(score) for score in scores]),
        decision.verdict,
        to_json(asdict(directive)),
        row["id"],
    )


def _own(row: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = next(
        score for score in row["scores"] if score["member"] == row["member"]
    )
    return found


def last_rounds_deleted(data: Path) -> None:
    newest = {row["member"]: row["id"] for row in _rounds(data)}
    for key in newest.values():
        execute(data, "DELETE FROM rounds WHERE id = ?", key)


def seats_exchanged(data: Path) -> None:
    game = _standing(data)[5]
    _alter(data, game, replace(game, seats=game.seats[::-1]))


def evaluations_turned(data: Path) -> None:
    _turn(data, _in_rows(data, WITH_RANDOM))


def match_game_turned(data: Path) -> None:
    _turn(data, _in_rows(data, f"SELECT id FROM games WHERE match_id = {MATCH} LIMIT 3")[2:])


def match_turned(data: Path) -> None:
    """Every game of a match that the population's ratings count."""
    _turn(data, _in_rows(data, f"SELECT id FROM games WHERE match_id = {MATCH}"))


def match_deleted(data: Path) -> None:
    """A match with its games and its own chain. Nothing is left of it but its number."""
    execute(
        data,
        "DELETE FROM game_seats WHERE game_id IN (SELECT id FROM games WHERE match_id = ?)",
        MATCH,
    )
    execute(data, "DELETE FROM games WHERE match_id = ?", MATCH)
    execute(data, "DELETE FROM matches WHERE id = ?", MATCH)
    execute(data, "DELETE FROM chain WHERE match_id = ?", MATCH)


def match_renumbered(data: Path) -> None:
    """A match that no chain of a population recorded: a copy of another one's row and chain."""
    for table, key in (("matches", "id"), ("chain", "match_id")):
        names = [row[1] for row in execute(data, f"PRAGMA table_info({table})")]
        values = ", ".join("9" if name == key else name for name in names)
        execute(
            data,
            f"INSERT INTO {table} SELECT {values} FROM {table} WHERE {key} = ?",
            MATCH,
        )


def training_game_deleted(data: Path) -> None:
    _alter(data, _standing(data)[-2])


def game_added(data: Path) -> None:
    """A copy of the newest game, with the next number."""
    last = _standing(data)[-1]
    (newest,) = _in_rows(data, "SELECT MAX(number) FROM games WHERE match_id IS NULL")
    number = max(newest, last.number) + 1
    _alter(data, last, last, replace(last, number=number, count=last.count + 1000))


def superseded_counts_again(data: Path) -> None:
    execute(data, "UPDATE games SET superseded = 0 WHERE superseded = 1")
    execute(data, "UPDATE game_blocks SET superseded_from = NULL")


def event_reworded(data: Path) -> None:
    execute(
        data,
        "UPDATE events SET text = 'nothing happened' WHERE id = (SELECT MIN(id) FROM events "
        "WHERE kind = 'mutate')",
    )


def snapshot_row_altered(data: Path) -> None:
    execute(
        data,
        "UPDATE snapshots SET frames = frames + 1 WHERE id = (SELECT MAX(id) FROM snapshots "
        "WHERE weights_removed = 0)",
    )


def snapshot_file_replaced(data: Path) -> None:
    folder = population_paths(data, NAME).snapshots
    first, second = sorted(folder.glob("*.safetensors"))[:2]
    first.write_bytes(second.read_bytes())


def removed_weights_denied(data: Path) -> None:
    execute(data, "UPDATE snapshots SET weights_removed = 0")


def version_altered(data: Path) -> None:
    game = _standing(data)[-1]
    first, *others = game.seats
    _alter(data, game, replace(game, seats=(replace(first, version_end=99), *others)))


def totals_altered(data: Path) -> None:
    """What the row of a block says of its games."""
    execute(data, "UPDATE game_blocks SET totals = replace(totals, '1', '2')")


def block_removed(data: Path) -> None:
    (newest,) = _in_rows(data, "SELECT MAX(id) FROM game_blocks WHERE superseded_from IS NULL")
    execute(data, "DELETE FROM block_players WHERE block_id = ?", newest)
    execute(data, "DELETE FROM game_blocks WHERE id = ?", newest)


def block_damaged(data: Path) -> None:
    execute(data, "UPDATE game_blocks SET columns = substr(columns, 1, length(columns) - 1)")


def players_of_block_hidden(data: Path) -> None:
    """Lists of a player's games leave out a block of which they are not told."""
    (player,) = _in_rows(data, "SELECT MAX(player_id) FROM block_players")
    execute(data, "DELETE FROM block_players WHERE player_id = ?", player)


def folded_counts_altered(data: Path) -> None:
    execute(data, "UPDATE folded_results SET wins = wins + 1 WHERE games > wins")


def config_altered(data: Path) -> None:
    execute(
        data, "UPDATE populations SET config = replace(config, 'copy_gap\":0.0', 'copy_gap\":0.1')"
    )


def last_record_removed(data: Path) -> None:
    """The chain is cut behind its newest games; the games stay."""
    (position,) = _in_rows(
        data,
        "SELECT MAX(position) FROM chain WHERE population_id = 1 AND kind = 'training games'",
    )
    execute(data, "DELETE FROM chain WHERE population_id = 1 AND position >= ?", position)


def games_reordered(data: Path) -> None:
    """Two games that went differently exchange everything but their keys."""
    games = _standing(data)
    second = games[-1]
    first = next(one for one in reversed(games) if one.seats != second.seats)
    _alter(data, first, replace(first, seats=second.seats))
    _alter(data, second, replace(second, seats=first.seats))


# --- rows altered, chain recomputed ---------------------------------------------------------------


def remade(forge: Forge, *, match: bool = False, forget: bool = False) -> Forge:
    """A forgery after which the chain is made anew. forget: checkpoints name no head any more."""

    def forge_all(data: Path) -> None:
        forge(data)
        rechain(data, chain_of_match(MATCH) if match else chain_of_population(POPULATION))
        if forget:
            shutil.rmtree(population_paths(data, NAME).checkpoints)

    return forge_all


def last_rounds_and_events_deleted(data: Path) -> None:
    newest = {row["member"]: row for row in _rounds(data)}
    for row in newest.values():
        execute(data, "DELETE FROM rounds WHERE id = ?", row["id"])
        execute(
            data,
            "DELETE FROM events WHERE member = ? AND frames = ? AND kind IN ('copy', 'mutate')",
            row["member"],
            row["frames"],
        )


def evaluation_players_exchanged(data: Path) -> None:
    for game in _in_rows(data, WITH_RANDOM):
        _exchange_players(data, game)


def evaluation_voided(data: Path) -> None:
    game = _in_rows(data, WITH_RANDOM)[0]
    execute(
        data, "UPDATE games SET end_reason = 'voided: fell over', voided = 1 WHERE id = ?", game
    )


def seed_altered(data: Path) -> None:
    game = _in_rows(data, WITH_RANDOM)[0]
    execute(data, "UPDATE games SET seed = seed + 1 WHERE id = ?", game)


def one_match_game_exchanged(data: Path) -> None:
    _exchange_players(data, _in_rows(data, f"SELECT id FROM games WHERE match_id = {MATCH}")[4])


def match_pair_exchanged(data: Path) -> None:
    for game in _in_rows(data, f"SELECT id FROM games WHERE match_id = {MATCH} AND pair = 2"):
        _exchange_players(data, game)


def newest_game_turned(data: Path) -> None:
    """No round was scored from it yet."""
    newest = _standing(data)[-1]
    _alter(data, newest, _turned(newest))


def event_deleted(data: Path) -> None:
    execute(data, "DELETE FROM events WHERE kind = 'resume'")


def counts_and_fold_altered(data: Path) -> None:
    folded_counts_altered(data)
    rechain(data, chain_of_population(POPULATION))
    shutil.rmtree(population_paths(data, NAME).checkpoints)


def begun_anew(data: Path) -> None:
    """The chain claims that it began with an upgrade of the league just now."""
    evaluations_turned(data)
    rows, through = {}, {}
    for kind, table, more in (
        ("evaluation games", "games", "kind = 1 AND match_id IS NULL"),
        ("rounds", "rounds", "1"),
        ("events", "events", "1"),
        ("wiring certificates", "wiring_certificates", "1"),
        ("snapshots", "snapshots", "1"),
        ("members", "members", "1"),
        ("starts", "incarnations", "1"),
        ("population", "populations", "1"),
    ):
        ((rows[kind], through[kind]),) = execute(
            data, f"SELECT COUNT(*), MAX(id) FROM {table} WHERE {more}"
        )
    ((*folded,),) = execute(data, "SELECT through_game_id, games, unscored_games FROM folds")
    ((training, last),) = execute(data, "SELECT SUM(count), MAX(last) FROM game_blocks")
    rows["training games"], through["training games"] = training, last
    note = json.dumps({"rows": rows, "through": through, "folds": folded})
    execute(data, "DELETE FROM chain WHERE population_id = 1 AND position > 1")
    execute(data, "UPDATE chain SET kind = 'begin', note = ? WHERE population_id = 1", note)
    rechain(data, chain_of_population(POPULATION))
    shutil.rmtree(population_paths(data, NAME).checkpoints)


def fold_denied(data: Path) -> None:
    """A fold claims another number of games that did not count."""

    def edit(content: ChainContent) -> ChainContent:
        if content.kind != FOLD:
            return content
        said = {**content.said, "unscored": content.said["unscored"] + 1}
        return replace(content, note=json.dumps(said))

    rechain(data, chain_of_population(POPULATION), edit)
    shutil.rmtree(population_paths(data, NAME).checkpoints)


def import_card_altered(data: Path) -> None:
    card = data / "imported" / "friend.json"
    said = json.loads(card.read_text())
    said["snapshot_id"] = "0" * 64
    card.write_text(json.dumps(said))
