"""Checks that a game keeps its contract: plays it, replays it, and reports broken promises."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pbt.envs.contract import EnvSpec, Game, declared_objective
from pbt.envs.names import is_file_name, is_id
from pbt.envs.testing.objectives import measure_returns
from pbt.envs.testing.playthrough import Playthrough, Referee, play
from pbt.errors import EnvError, EnvNameError, EnvOptionsError, EnvViewError
from pbt.objective import ObjectiveKind

MAX_STEPS = 20_000
MAX_PROBLEMS = 20
# Seeds that are compared, at least, before a game counts as one without chance.
LEAST_SEEDS = 3


@dataclass(frozen=True)
class ObjectiveFinding:
    """The objective of a game, as declared and as measured.

    declared  by the game, None where it declares none
    proposed  by what was measured, None where random actions do not tell
    measured  what was measured, in words
    """

    declared: ObjectiveKind | None
    proposed: ObjectiveKind | None
    measured: str


@dataclass(frozen=True)
class CheckReport:
    """The findings of `check_game`.

    problems        one line each: where, found, expected, what to do; empty: the game keeps the
                    contract
    games           games that were played to their end
    first_places    per seat, the games that this seat won alone
    draws           games with several winners
    truncated       games that were cut off
    replayable      the same seeds and actions gave the same games at another table, in another
                    order; None: not measured, because games failed
    seed_matters    equal actions gave different games under different seeds; None as above
    steps_per_s     decisions of all seats per second inside the game, on one core
    mean_decisions  decisions of all seats per game
    winners         how the ranking comes about, as the game declares it
    objective       what results are worth; None: no game was played
    warnings        one line each: what training takes though it is not what a space says
    """

    name: str
    problems: tuple[str, ...]
    games: int
    seats: tuple[str, ...]
    roles: tuple[str, ...]
    reward_terms: tuple[str, ...]
    replayable: bool | None
    seed_matters: bool | None
    steps_per_s: float
    mean_decisions: float
    winners: str
    first_places: tuple[int, ...]
    draws: int
    truncated: int
    objective: ObjectiveFinding | None
    warnings: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.problems


def check_game(
    spec: EnvSpec,
    seeds: int = 20,
    *,
    max_steps: int = MAX_STEPS,
    told: Callable[[str], None] = lambda doing: None,
) -> CheckReport:
    """Check a game over a number of seeds.

    It plays seeds 0 .. seeds - 1 with random legal actions, replays them at a fresh table in
    reverse order, then varies the seed under equal actions. It raises nothing for what the game
    does: what its code raises, even while a table is built, is a problem of the report.
    Raises: EnvNameError, EnvOptionsError, EnvViewError for what the caller asked for.

    max_steps  a game longer than this counts as endless
    told       called with what it does, before each game
    """
    tables: list[Game] = []
    try:
        return _check(spec, seeds, max_steps, tables, told)
    except (EnvNameError, EnvOptionsError, EnvViewError):
        raise
    except EnvError as error:
        return _report(spec, None, [str(error)])
    # A game's constructor may raise anything, and it becomes the report's finding.
    except Exception as error:  # noqa: BLE001
        problem = f"building game {spec.name!r} raised {type(error).__name__}: {error}"
        return _report(spec, None, [f"{problem}; fix its constructor"])
    finally:
        for table in tables:
            table.close()


def _check(
    spec: EnvSpec, seeds: int, max_steps: int, tables: list[Game], told: Callable[[str], None]
) -> CheckReport:
    game = _table(spec, tables)
    problems = table_problems(game)
    if problems:
        return _report(spec, game, problems)
    referee = Referee(game)
    played: list[Playthrough] = []
    for seed in range(seeds):
        told(f"game {seed + 1} of {seeds}")
        played.append(play(referee, spec.name, seed, seed, max_steps))
        problems.extend(_found(played[-1], max_steps))
        if played[-1].error is not None or played[-1].outcome is None:
            break
    if problems:
        return _report(spec, game, problems, played)
    other = Referee(_table(spec, tables))
    replays = {}
    for seed in reversed(range(seeds)):
        told(f"game {seed + 1} of {seeds} once more")
        replays[seed] = play(other, spec.name, seed, seed, max_steps)
    problems.extend(problem for again in replays.values() for problem in again.problems)
    replayable = all(replays[first.seed].digest == first.digest for first in played)
    told("whether the seed matters")
    seed_matters = varies_with_seed(referee, spec.name, seeds, max_steps)
    if not (is_file_name(spec.name) or is_id(spec.name)):
        problems.extend(_declared(spec, replayable, seed_matters, seeds))
    one_role = len(set(game.seat_roles)) == 1
    declared = declared_objective(spec, game)
    problems.extend(_objective_problems(declared, played, one_role=one_role))
    return _report(spec, game, problems, played, replayable, seed_matters)


def _table(spec: EnvSpec, tables: list[Game]) -> Game:
    tables.append(spec.make())
    return tables[-1]


def varies_with_seed(referee: Referee, name: str, seeds: int, max_steps: int) -> bool:
    """Whether any of the other seeds gives another game than seed 0 under equal actions.

    Some are tried whatever `seeds` says, since one seed alone tells nothing.
    """
    first, last = play(referee, name, 0, 0, max_steps).digest, max(seeds, LEAST_SEEDS)
    return any(play(referee, name, seed, 0, max_steps).digest != first for seed in range(1, last))


def table_problems(game: Game) -> list[str]:
    """Broken promises that show before play: roles, seats, reward terms."""
    problems = []
    if not game.roles or not game.seat_names:
        problems.append(
            f"{len(game.roles)} roles and {len(game.seat_names)} seats; expected at least "
            "one of each"
        )
    if len(game.seat_roles) != len(game.seat_names) or set(game.seat_roles) != set(
        range(len(game.roles))
    ):
        problems.append(
            f"seat_roles {game.seat_roles} for {len(game.seat_names)} seats and "
            f"{len(game.roles)} roles; expected one role index per seat, each used"
        )
    for what, names in (
        ("seat_names", game.seat_names),
        ("role names", tuple(role.name for role in game.roles)),
        ("reward_terms", game.reward_terms),
    ):
        if len(set(names)) != len(names):
            problems.append(f"{what} {names}; expected each name once")
    if not game.reward_terms:
        problems.append('reward_terms (); expected at least ("reward",)')
    return problems


def first_warnings(played: Sequence[Playthrough]) -> tuple[str, ...]:
    """The first warning of each kind."""
    first: dict[str, str] = {}
    for game in played:
        first = {**game.warnings, **first}
    return tuple(first.values())


def _found(game: Playthrough, max_steps: int) -> list[str]:
    if game.problems:
        return list(game.problems)
    if game.outcome is None:
        return [
            f"seed {game.seed}: no end after {max_steps} steps; expected every game to end; "
            "truncate it in the game, or check it with a higher limit if it is meant to last"
        ]
    return []


def _declared(spec: EnvSpec, replayable: bool, seed_matters: bool, seeds: int) -> list[str]:
    problems = []
    if spec.replayable and not replayable:
        problems.append(
            f"declared replayable, but the same {seeds} seeds and actions gave different "
            "games; expected equal ones; "
            "draw all randomness from the seed given to reset and keep nothing from earlier "
            "games, or declare replayable=False"
        )
    if seed_matters and not spec.chance:
        problems.append(
            f"declared chance=False, but equal actions under {seeds} seeds gave different "
            "games; declare chance=True"
        )
    if spec.chance and not seed_matters:
        problems.append(
            f"declared chance=True, but equal actions under {seeds} seeds gave equal games; "
            "use the seed given to reset, or declare chance=False"
        )
    return problems


def _objective_problems(
    declared: ObjectiveKind | None, played: Sequence[Playthrough], *, one_role: bool
) -> list[str]:
    measured = measure_returns(played)
    problem = measured.contradiction(declared, one_role=one_role) if declared else None
    advice = f'declare objective="{measured.proposed or "return"}"'
    return [f'declared objective="{declared}", but {problem}; {advice}'] if problem else []


def _objective_finding(
    declared: ObjectiveKind | None, played: Sequence[Playthrough]
) -> ObjectiveFinding:
    measured = measure_returns(played)
    return ObjectiveFinding(declared, measured.proposed, measured.words())


def _report(
    spec: EnvSpec,
    game: Game | None,
    problems: list[str],
    played: Sequence[Playthrough] = (),
    replayable: bool | None = None,
    seed_matters: bool | None = None,
) -> CheckReport:
    ended = [one.outcome for one in played if one.outcome is not None]
    seats = game.seat_names if game is not None else ()
    sole_winners = Counter(
        outcome.ranking.index(0) for outcome in ended if outcome.ranking.count(0) == 1
    )
    decisions, step_s = sum(one.decisions for one in played), sum(one.step_s for one in played)
    if len(problems) > MAX_PROBLEMS:
        problems = [*problems[:MAX_PROBLEMS], f"and {len(problems) - MAX_PROBLEMS} more"]
    return CheckReport(
        name=spec.name,
        problems=tuple(problems),
        warnings=first_warnings(played),
        games=len(ended),
        seats=tuple(seats),
        roles=tuple(role.name for role in game.roles) if game is not None else (),
        reward_terms=tuple(game.reward_terms) if game is not None else (),
        replayable=replayable,
        seed_matters=seed_matters,
        steps_per_s=decisions / step_s if step_s else 0.0,
        mean_decisions=decisions / len(played) if played else 0.0,
        winners=spec.winners,
        first_places=tuple(sole_winners[seat] for seat in range(len(seats))),
        draws=sum(outcome.ranking.count(0) > 1 for outcome in ended),
        truncated=sum(outcome.reason == "truncated" for outcome in ended),
        objective=_objective_finding(declared_objective(spec, game), played)
        if game is not None and ended
        else None,
    )
