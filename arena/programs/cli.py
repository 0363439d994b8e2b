"""The command line on a leash: `python -P -m arena.programs.cli [--leave-nothing] ARGUMENTS...`.

It stops as by Ctrl-C when its standard input ends (`arena.programs.leash`). When it ends by an
error, it leaves a file that says so in its working folder (`arena.data.ending`), unless the first
argument says that the folder is a person's.
"""

import sys

from arena.programs.leash import on_leash

LEAVE_NOTHING = "--leave-nothing"


def main() -> int:
    from arena.cli.app import run
    from arena.data.ending import leave_ending

    arguments = sys.argv[1:]
    if arguments[:1] == [LEAVE_NOTHING]:
        return on_leash(lambda: run(arguments[1:]))
    return on_leash(lambda: run(arguments, leave_ending))


if __name__ == "__main__":
    sys.exit(main())
