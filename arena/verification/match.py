"""Verification of a match: its chain, its pairs, its games, and reports that the service has."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from arena.data.paths import league_path
from arena.league.chain import chain_of_match, has_head
from arena.league.chain_check import ChainReport, check_chain
from arena.league.chain_state import Difference
from arena.league.database import League, count_rows, open_league
from arena.league.game_rows import StoredGame, games_between
from arena.league.matches import PERSON_KEY, Match, MatchError, find_match
from arena.league.schema import games, keys_of_match
from arena.matches.stored import stored_test
from arena.verification.games import play_games
from arena.verification.match_reports import wrong_reports
from arena.verification.report import Observer, VerifyReport, VerifyRequest, head_difference
from pbt.records import GameRecord, is_voided
from pbt.seeding import integer


def verify_match(
    data: Path, match_id: int, request: VerifyRequest, observe: Observer
) -> VerifyReport:
    """Verifies a match. Raises: MatchError when there is none of this number."""
    with open_league(league_path(data), read_only=True) as league:
        return check_match(league, data, match_id, request, observe)


def games_of_match(league: League, match_id: int) -> int:
    """How many games of a match were not voided."""
    mine = (games.c.id.between(*keys_of_match(match_id)), games.c.voided == 0)
    with league.read() as connection:
        return count_rows(connection, games, *mine)


def missing_matches(
    league: League, chain: ChainReport, numbers: Sequence[int]
) -> Iterator[Difference]:
    """Matches that the chain of a population recorded and that are gone, and those it did not.

    numbers  of the matches among its players, as they were before its chain was read
    """
    for number, head in sorted(chain.matches.items()):
        try:
            find_match(league, number)
        except MatchError:
            yield Difference(f"match:{number}", "no match", "the match that the chain says began")
            continue
        if head is not None and not has_head(league, chain_of_match(number), head):
            where = f"match:{number}, its chain"
            yield Difference(where, "another history", f"head {head}, as at its end")
    for number in numbers:
        recorded = number in chain.matches or number < (chain.recorded or number + 1)
        if not recorded:
            yield Difference(f"match:{number}", "a match of no record", "no such match")


def check_match(
    league: League, data: Path, match_id: int, request: VerifyRequest, observe: Observer
) -> VerifyReport:
    """As `verify_match`, in an open league."""
    match = find_match(league, match_id)
    chain = check_chain(
        league,
        chain_of_match(match_id),
        [] if request.head is None else [request.head],
        lambda what, done: observe(what, done, None),
    )
    stored = list(games_between(league, *keys_of_match(match_id)))
    replays, differences = play_games(
        match.env_name,
        match.env_options,
        lambda: iter(stored),
        sum(not is_voided(one.record.end_reason) for one in stored),
        request,
        lambda record: f"match:{match_id}:{record.number}",
        observe,
    )
    reports = wrong_reports(league, data, match, allow_files=request.allow_files)
    differences += [*_wrong_seats(match, stored), *_off_plan(match, stored), *reports]
    return VerifyReport(
        "match",
        f"match:{match_id}",
        chain,
        (*chain.differences, *head_difference(request, chain), *differences),
        {"games": len(stored)},
        replays,
    )


def _off_plan(match: Match, stored: list[StoredGame]) -> Iterator[Difference]:
    """Games that the stored plan of their match does not have: seed, pair, openings, greediness.

    Games of a person have no plan, nor have matches of versions that stored none.
    """
    settings = match.settings
    if PERSON_KEY in settings or "batch" not in settings:
        return
    planned = stored_test(match)[0]
    for record in (one.record for one in stored):
        index = record.count % planned
        block = index // int(settings.get("block", max(2, len(record.seats))))
        paired = bool(settings["paired"])
        expected = {
            "seed": integer(match.seed, "match", block if paired else index, bits=31),
            "pair": block if paired else None,
            "opening plies": int(settings["opening_plies"]),
            "greedy": bool(settings["greedy"]),
        }
        found = {
            "seed": record.seed,
            "pair": record.pair,
            "opening plies": record.opening_plies,
            "greedy": record.greedy,
        }
        for name, wanted in expected.items():
            if found[name] != wanted:
                where = f"game match:{match.id}:{record.number}, {name}"
                yield Difference(where, f"{found[name]}", f"{wanted}, as planned")


def _wrong_seats(match: Match, stored: list[StoredGame]) -> Iterator[Difference]:
    """Games with other players, and pairs that do not share a seed or do not swap seats."""
    pairs: dict[int, list[GameRecord]] = defaultdict(list)
    for one in stored:
        record = one.record
        strange = {seat.player for seat in record.seats} - set(match.players)
        if strange and PERSON_KEY not in match.settings:
            names = ", ".join(sorted(player.name for player in strange))
            where = f"game match:{match.id}:{record.number}"
            yield Difference(where, f"the player {names}", "players of the match")
        if record.pair is not None and not is_voided(record.end_reason):
            pairs[record.pair].append(record)
    for number, records in sorted(pairs.items()):
        where = f"pair {number} of match:{match.id}"
        if len({record.seed for record in records}) > 1:
            seeds = ", ".join(str(record.seed) for record in records)
            yield Difference(where, f"the seeds {seeds}", "one seed for all its games")
        seatings = [tuple(seat.player for seat in record.seats) for record in records]
        duel = len(set(match.players)) == 2 and all(len(seating) == 2 for seating in seatings)
        if duel and len(set(seatings)) < len(seatings):
            yield Difference(where, "the same seats twice", "seats that change in the pair")
