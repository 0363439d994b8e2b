"""The command line on a leash: `python -P -m arena.programs.cli ARGUMENTS...`.

It stops as by Ctrl-C when its standard input ends (`arena.programs.leash`). When it ends by an
error, it leaves a file that says so in its working folder (`arena.data.ending`).
"""

import sys

from arena.programs.leash import on_leash


def main() -> int:
    from arena.cli.app import run
    from arena.data.ending import leave_ending

    return on_leash(lambda: run(sys.argv[1:], leave_ending))


if __name__ == "__main__":
    sys.exit(main())
