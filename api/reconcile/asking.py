"""Asks a program for one answer: the code of a game runs there, and never in the service.

What the program finds wrong with a request is its answer. A program that is killed, crashes or
hangs gives none: that is a fault of the service and no word on the request.
"""

import json
import signal
import subprocess
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import structlog

from api.http.problems import Problem
from api.http.settings import Settings
from pbt.processes.child_process import ending

# The programs end themselves after 60 s.
LIMIT_S = 70.0
_WORDS = 4000

log = structlog.stdlib.get_logger("api.asking")


def answer_of(
    what: str, command: Sequence[str], given: bytes = b"", codes: Collection[int] = (0,)
) -> tuple[int, bytes, str]:
    """(exit code, standard output, standard error) of the program.

    what   that is asked, as the subject of a sentence
    given  the program's standard input
    codes  with which it gives an answer
    Raises: Problem "check-failed" where it gives none.
    """
    try:
        done = subprocess.run(
            list(command), input=given, capture_output=True, timeout=LIMIT_S, check=False
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


def finding_of(what: str, command: Sequence[str], given: str) -> dict[str, Any]:
    """The JSON object in the last line of the program's output.

    Raises: Problem "check-failed" where there is none.
    """
    _, output, errors = answer_of(what, command, given.encode())
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
