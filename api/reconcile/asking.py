"""Asks a program for one answer: the code of a game runs there, and never in the service.

What the program finds wrong with a request is its answer. A program that is killed, crashes or
hangs gives none: that is a fault of the service and no word on the request.
"""

import json
import signal
import subprocess
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import structlog

from api.http.problems import Problem
from api.http.settings import Settings
from pbt.processes.child_process import ending

# The programs end themselves after 60 s, an import after 600 s.
LIMIT_S, IMPORT_LIMIT_S = 70.0, 610.0
_WORDS = 4000

log = structlog.stdlib.get_logger("api.asking")


def answer_of(
    what: str,
    command: Sequence[str],
    given: bytes = b"",
    codes: Collection[int] = (0,),
    limit_s: float | None = None,
) -> tuple[int, bytes, str]:
    """(exit code, standard output, standard error) of the program.

    what     that is asked, as the subject of a sentence
    given    the program's standard input
    codes    with which it gives an answer
    limit_s  how long it may take; None: LIMIT_S
    Raises: Problem "check-failed" where it gives none.
    """
    limit_s = LIMIT_S if limit_s is None else limit_s
    try:
        done = subprocess.run(
            list(command), input=given, capture_output=True, timeout=limit_s, check=False
        )
    except subprocess.TimeoutExpired as late:
        raise no_answer(what, command, "took too long", late.stderr or b"") from late
    except OSError as error:
        raise no_answer(what, command, f"could not be started ({error.strerror})", b"") from error
    if done.returncode in codes:
        return done.returncode, done.stdout, done.stderr.decode(errors="replace")
    alarmed = done.returncode == -signal.SIGALRM
    raise no_answer(
        what, command, "took too long" if alarmed else ending(done.returncode), done.stderr
    )


def finding_of(
    what: str, command: Sequence[str], given: str, limit_s: float | None = None
) -> dict[str, Any]:
    """The JSON object in the last line of the program's output.

    limit_s  how long it may take; None: LIMIT_S
    Raises: Problem "check-failed" where there is none.
    """
    _, output, errors = answer_of(what, command, given.encode(), limit_s=limit_s)
    try:
        found: dict[str, Any] = json.loads(output.splitlines()[-1])
    except (ValueError, IndexError) as error:
        raise no_answer(what, command, "gave no result", errors.encode()) from error
    return found


def refuse_impossible(settings: Settings, kind: str, asked: Mapping[str, Any]) -> None:
    """Check work before it is written down.

    kind, asked  as `arena.programs.request_check` reads them
    Raises: Problem for work that cannot be done, and when the check itself fails.
    """
    command = [*settings.request_checker, str(settings.data)]
    given = json.dumps({"kind": kind, "asked": asked})
    problems = finding_of(f"the check of the {kind}", command, given)["problems"]
    if problems:
        places = [(place, text) for place, text in problems]
        raise Problem("invalid", "; ".join(text for _, text in places), places)


def import_upload(settings: Settings, name: str, weights: Path) -> str:
    """Import an uploaded snapshot as imported/NAME. Returns its id.

    weights  their file; the card lies beside it
    Raises: Problem for files that are refused, for a name that another snapshot has, for a full
    disk, and when the program itself fails.
    """
    command = [*settings.importer, str(settings.data)]
    given = json.dumps({"name": name, "weights": str(weights)})
    found = finding_of("the check of the snapshot", command, given, IMPORT_LIMIT_S)
    if "taken" in found:
        raise Problem("conflict", found["taken"], [("/name", found["taken"])])
    if "full" in found:
        raise Problem("disk-full", found["full"], headers={"retry-after": "30"})
    if "problems" in found:
        places = [(place, text) for place, text in found["problems"]]
        raise Problem("invalid", "; ".join(text for _, text in places), places)
    return str(found["snapshot"])


def no_answer(what: str, command: Sequence[str], how: str, errors: bytes) -> Problem:
    """The problem for a caller. The service's log gets the command and what the program wrote."""
    words = errors.decode(errors="replace")[-_WORDS:]
    log.error("no answer", what=what, how=how, command=list(command), output=words)
    return Problem(
        "check-failed",
        f"{what} {how}, which says nothing about the request; try again. If it happens again, see "
        "the service's log",
        headers={"retry-after": "5"},
    )
