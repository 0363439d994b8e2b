"""`arena population set`, `join`, `leave` and `clone`: configs of populations that a service has.

Each tells what an edit does. With `--dry-run` it changes nothing.
"""

from typing import Annotated, Any
from urllib.parse import quote

import typer

from arena.cli.output import (
    DataOption,
    DryRunOption,
    JsonOption,
    NameArgument,
    SetOption,
    StartOption,
    print_json,
    print_table,
    say,
)
from arena.cli.service_client import call_population
from arena.data.paths import check_population_name
from pbt.errors import ConfigError


def set_(
    name: NameArgument,
    values: Annotated[
        list[str],
        typer.Argument(
            metavar="KEY=VALUE...",
            help="Settings that can still be changed after the first start, with new values.",
        ),
    ],
    dry_run: DryRunOption = False,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Edit the config of a population.

    A running training goes on with the new values; for some of them its processes start again.
    `--dry-run` tells what an edit would do.
    """
    body = {"set": dict(_assignment(word) for word in values)}
    edited = call_population(data, "PATCH", name, _dry(dry_run), body)
    if as_json:
        print_json(edited)
        return
    pending = ", ".join(edited["spec"]["pending_edits"]) or "nothing to change"
    say(f"population {name!r}: " + ("it would do this" if dry_run else f"takes {pending}"))
    _say_effects(edited)


def join(
    name: NameArgument,
    weights: Annotated[
        str | None,
        typer.Option(
            help=(
                "A member (m0) or a snapshot's id whose weights it begins with. Default: newly "
                "initialised weights."
            )
        ),
    ] = None,
    role: Annotated[
        str | None, typer.Option(help="Its role; needed only when the game has several.")
    ] = None,
    dry_run: DryRunOption = False,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add a member. It learns from now on, also while the others train."""
    body = {
        key: value for key, value in (("weights", weights), ("role", role)) if value is not None
    }
    change = call_population(data, "POST", name, f"/members{_dry(dry_run)}", body)
    _tell_member(change, as_json, dry_run=dry_run)


def leave(
    name: NameArgument,
    member: Annotated[str, typer.Argument(metavar="MEMBER", help="The member, such as m1.")],
    dry_run: DryRunOption = False,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take a member out of the training.

    A last snapshot of it is kept. Its games and ratings stay.
    """
    change = call_population(
        data, "DELETE", name, f"/members/{quote(member, safe='')}{_dry(dry_run)}"
    )
    _tell_member(change, as_json, dry_run=dry_run)


def _tell_member(change: Any, as_json: bool, *, dry_run: bool) -> None:
    if as_json:
        print_json(change)
        return
    what = f"joins as {change['role']}" if change["change"] == "join" else "leaves"
    when = "; it would do this" if dry_run else " as soon as its trainer has saved, or starts"
    say(f"population {change['population']!r}: {change['member']} {what}{when}")
    _say_effects(change)


def _dry(dry_run: bool) -> str:
    """The query of a request that only tells its effects, "" for one that changes something."""
    return "?dry_run=true" if dry_run else ""


def _say_effects(answer: Any) -> None:
    for effect in answer["effects"]:
        say(f"  {effect}")


def clone(
    name: NameArgument,
    new_name: Annotated[str, typer.Argument(metavar="NEW", help="The new population's name.")],
    start: StartOption = False,
    dry_run: DryRunOption = False,
    overrides: SetOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Create a population with the config of another one, and changes of it.

    It has as many members, which begin with new weights.
    """
    body = {
        "name": check_population_name(new_name),
        "set": dict(_assignment(word) for word in overrides or ()),
        "start": start,
    }
    made = call_population(data, "POST", name, f"/clone{_dry(dry_run)}", body)
    if as_json:
        print_json(made)
    elif dry_run:
        say(f"the checks passed: population {new_name!r} can be created as {name!r} was, but for")
        print_table(
            ("key", new_name, name),
            [(one["key"], one["value"], one["other"]) for one in made["differences"]],
        )
    else:
        say(
            f"population {new_name!r} is created as {name!r} was"
            + ("" if start else f"; train it with `arena population start {new_name}`")
        )


def _assignment(word: str) -> tuple[str, Any]:
    """`learning.gamma=0.98` -> ("learning.gamma", 0.98), read as `--set` reads it."""
    from pbt.config.load import options_from

    key, equals, _ = word.partition("=")
    if not equals:
        raise ConfigError(
            "arena population set",
            [f"{word}: it has no value; expected section.key=value"],
        )
    table: Any = options_from([word])
    for part in key.strip().split("."):
        table = table[part]
    return key.strip(), table
