"""Rating tables count in the objective of their population."""

import pytest

from arena.cli.rating_report import league_report
from arena.cli.rating_table import print_standings
from arena.cli.return_table import returns_words
from arena.league.best import best_of_each_role
from arena.league.best_of_many import best_of_many
from arena.league.database import League
from arena.league.matches import create_match, finish_match
from arena.league.populations import Incarnation, create_population, open_incarnation
from arena.league.ratings import Standing, population_table
from arena.league.results import population_results
from arena.league.returns import return_standings
from arena.league.writer import LeagueWriter
from pbt.records import GameRecord, PlayerRef
from tests.arena.league.samples import MEMBERS, RANDOM, game, snapshot, snapshot_player

Started = tuple[League, Incarnation]
A, B = snapshot_player("a"), snapshot_player("b")


def population(league: League, name: str, objective: str) -> Incarnation:
    config = {"env": {"name": "leduc", "options": {}, "objective": objective}}
    created = create_population(league, name, "leduc", config, {}, MEMBERS)
    return open_incarnation(league, created, 1)


def hand(number: int, players: tuple[PlayerRef, PlayerRef], chips: float) -> GameRecord:
    """A hand in which the first player wins so many chips; below 0 it loses them."""
    places = (0, 1) if chips > 0 else (1, 0)
    return game(number, players, places, "evaluation", returns=[chips, -chips])


def hands() -> list[GameRecord]:
    """Each loses to `random` two of three hands. "a" wins 4 chips and loses 1, "b" 1 and 4."""
    played = []
    for number in range(180):
        player, large, small = ((A, 4.0, 1.0), (B, 1.0, 4.0))[number % 2]
        first = number % 4 < 2
        chips = large if number % 3 == 0 else -small
        # Chips vary a little, as hands do.
        chips *= 1 + 0.1 * (number % 5 - 2)
        pair = (player, RANDOM) if first else (RANDOM, player)
        played.append(hand(number, pair, chips if first else -chips))
    return played


def write(league: League, source: Incarnation, games: list[GameRecord]) -> None:
    with LeagueWriter(league, source) as writer:
        for letter in "ab":
            writer.snapshot(snapshot(letter))
        for one in games:
            writer.game(one)


def ratings(league: League, name: str) -> dict[PlayerRef, Standing]:
    return {row.player: row for row in population_table(league, name).rows}


def test_by_margin_the_chips_decide_and_by_wins_the_hands(started: Started) -> None:
    league, _ = started
    for name, objective in (("by_chips", "margin"), ("by_hands", "win")):
        write(league, population(league, name, objective), hands())
    chips, games = ratings(league, "by_chips"), ratings(league, "by_hands")
    assert population_table(league, "by_chips").objective == "margin"
    assert chips[A].rating == pytest.approx(2 / 3, abs=0.15)
    assert chips[B].rating == pytest.approx(-7 / 3, abs=0.15)
    assert games[A].rating == pytest.approx(games[B].rating, abs=1e-6)
    best = best_of_each_role(league, "by_chips")
    assert [one.record.snapshot_id for one in best.values()] == [A.name]


def test_a_table_of_margins_has_margins_in_every_column(
    started: Started, capsys: pytest.CaptureFixture[str]
) -> None:
    league, _ = started
    write(league, population(league, "by_chips", "margin"), hands())
    print_standings("by_chips", population_table(league, "by_chips"))
    text = capsys.readouterr().out
    (row,) = [line for line in text.splitlines() if line.startswith("   1 ")]
    assert row.count("+0.667") == 3 and "%" not in row, "rating, score and versus random"
    assert "of the margins ratings explain cannot be told" in text


@pytest.mark.parametrize("objective", ["win", "margin"])
def test_the_distance_to_another_player_needs_no_random(
    started: Started, capsys: pytest.CaptureFixture[str], objective: str
) -> None:
    """Against each other the two are known better than either is against `random`."""
    league, _ = started
    write(league, population(league, "pair", objective), hands())
    with LeagueWriter(league, create_match(league, "leduc", {}, [A, B], 90, 1, {})) as writer:
        for number in range(90):
            chips = (5.0 if number % 3 else -1.0) * (1 + 0.1 * (number % 5 - 2))
            players = (A, B) if number % 2 else (B, A)
            writer.game(hand(number, players, chips if number % 2 else -chips))
    rows = {row["id"]: row for row in league_report(league, "pair")["players"]}
    value = "elo" if objective == "win" else "margin"
    best, other = rows[A.name], rows[B.name]
    assert best["to_best"] is None and best["rank"] == 1
    distance = other["to_best"]
    assert distance["anchor"] == best["player"]
    assert distance["value"] == pytest.approx(other[value] - best[value], abs=1e-6)
    assert distance["low"] < distance["value"] < distance["high"] < 0
    assert rows["random"]["to_best"]["value"] == pytest.approx(-best[value], abs=1e-6)
    # Of two players, the lower one is the middle.
    assert other["to_middle"] is None and best["to_middle"]["low"] > 0
    print_standings("pair", population_table(league, "pair"))
    text = capsys.readouterr().out
    assert f"to best: above {best['player']}; to middle: above {other['player']}" in text


def circle_of_hands() -> list[GameRecord]:
    """a beats b, b beats random, random beats a, by 4 chips; no rating explains any of it."""
    played = []
    for number in range(180):
        pair = ((A, B), (B, RANDOM), (RANDOM, A))[number % 3]
        chips = 4.0 + 0.5 * (number % 5 - 2) + (pair == (B, RANDOM)) * 2
        order = pair if number % 2 else pair[::-1]
        played.append(hand(number, order, chips if order == pair else -chips))
    return played


def test_against_a_panel_random_has_a_value_and_is_no_zero(
    started: Started, capsys: pytest.CaptureFixture[str]
) -> None:
    league, _ = started
    write(league, population(league, "by_chips", "margin"), circle_of_hands())
    table = population_table(league, "by_chips")
    print_standings("by_chips", table)
    text = capsys.readouterr().out
    (random,) = [row for row in table.rows if row.player == RANDOM]
    assert random.rating == pytest.approx(-1.0)
    (row,) = [line for line in text.splitlines() if line.split()[:1] == ["random"]]
    assert "-1 [" in row
    assert "mean margins, zero = mean of the panel" in text and "random = 0" not in text
    assert "the panel: all 2 other rated players, equally weighted" in text


def test_only_fresh_games_by_the_objective_of_the_table_stand_below_it(started: Started) -> None:
    league, _ = started
    write(league, population(league, "by_chips", "margin"), hands())
    table = population_table(league, "by_chips")

    def played(**settings: object) -> int:
        match = create_match(league, "leduc", {}, [A, RANDOM], 400, 1, {"fresh": True, **settings})
        return finish_match(league, match, 400).id

    by_chips = played(objective="margin")
    played()
    assert best_of_many(league, "by_chips", table).fresh == (by_chips,)


def test_margins_are_means_over_the_two_games_of_a_seed(started: Started) -> None:
    league, _ = started
    source = population(league, "pot", "margin")
    write(league, source, [])
    match = create_match(league, "leduc", {}, [A, B], 4, 1, {})
    rows = [((A, B), 5.0, 0), ((B, A), 1.0, 0), ((A, B), -2.0, 1), ((B, A), -2.0, 1)]
    with LeagueWriter(league, match) as writer:
        for number, (players, chips, pair) in enumerate(rows):
            places = (0, 1) if chips > 0 else (1, 0)
            returns = [chips, -chips]
            writer.game(game(number, players, places, "evaluation", returns=returns, pair=pair))
    results = population_results(league, "pot")
    (margin,) = results.margins
    assert (margin.units, margin.total, margin.squares, margin.paired) == (2, 2.0, 4.0, True)
    # First pair: a won in the first seat and lost in the second; second pair: the other way.
    paired = results.meetings.paired[0]
    assert paired[0, 2] == 1 and paired[2, 0] == 1 and paired.sum() == 2
    assert results.meetings.single.sum() == 0


def test_a_pair_with_one_game_left_counts_as_a_game(started: Started) -> None:
    league, _ = started
    source = population(league, "pot", "margin")
    write(league, source, [])
    match = create_match(league, "leduc", {}, [A, B], 4, 1, {})
    with LeagueWriter(league, match) as writer:
        writer.game(game(0, (A, B), (0, 1), "evaluation", returns=[3.0, -3.0], pair=0))
    results = population_results(league, "pot")
    assert [(one.units, one.total, one.paired) for one in results.margins] == [(1, 3.0, False)]
    assert results.meetings.single[0, 0].tolist() == [1, 0, 0]
    assert results.meetings.paired.sum() == 0


def test_larger_tables_are_rated_by_places_and_say_so(started: Started) -> None:
    league, _ = started
    source = population(league, "pot", "margin")
    seats = (A, RANDOM, RANDOM)
    games = [game(n, seats, (0, 1, 2), "evaluation", returns=[2, -1, -1]) for n in range(40)]
    write(league, source, games)
    table = population_table(league, "pot")
    assert (table.objective, table.rated.unit) == ("win", "Elo")
    assert "elo" in league_report(league, "pot")["players"][0]
    assert any("here places count" in note for note in table.rated.notes)


def test_self_play_of_some_is_not_ranked_beside_cross_play_of_others(started: Started) -> None:
    """A alone returns more than B beside others, which says nothing of the two."""
    league, _ = started
    source = population(league, "team", "return")
    games = []
    for number in range(120):
        spread = number % 5 * 0.1
        if number % 3 == 0:
            games.append(game(number, (A, A), (0, 0), "evaluation", returns=[9 + spread] * 2))
            continue
        player, value = ((A, 4.0), (B, 6.0))[number % 3 - 1]
        games.append(
            game(number, (player, RANDOM), (0, 0), "evaluation", returns=[value + spread] * 2)
        )
    write(league, source, games)
    rows = return_standings(league, "team")
    assert [row.snapshot.record.snapshot_id for row in rows] == [B.name, A.name]
    assert [(row.games, row.left_out) for row in rows] == [(40, 0), (40, 40)]
    assert rows[1].mean == pytest.approx(4.2) and rows[1].gap is None
    assert "beside other players" in returns_words(rows)
    assert "rank none until each snapshot that has 30 games has 30" in returns_words(rows)


def test_returns_are_ranked_by_games_with_copies_of_oneself(started: Started) -> None:
    league, _ = started
    source = population(league, "team", "return")
    games = []
    for number in range(160):
        spread = number % 5 * 0.1
        if number % 4 < 2:
            player, value = ((A, 10.0), (B, 4.0))[number % 2]
            players, returns = (player, player), [value + spread] * 2
        else:
            players, returns = ((A, B), (B, A))[number % 2], [6.0 + spread] * 2
        games.append(game(number, players, (0, 0), "evaluation", returns=returns))
    write(league, source, games)
    rows = return_standings(league, "team")
    assert [row.snapshot.record.snapshot_id for row in rows] == [A.name, B.name]
    assert [row.games for row in rows] == [40, 40]
    assert rows[0].mean == pytest.approx(10.2) and rows[1].mean == pytest.approx(4.2)
    assert rows[0].cross_play is not None and rows[0].cross_play[0] == 80
    assert rows[0].gap == pytest.approx(4.0) and rows[1].gap == pytest.approx(-2.0)
    assert population_table(league, "team").rows == []
    best = best_of_each_role(league, "team")
    assert [one.record.snapshot_id for one in best.values()] == [A.name]
