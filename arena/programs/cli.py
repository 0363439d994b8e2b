"""The command line on a leash: `python -P -m arena.programs.cli ARGUMENTS...`.

It stops as by Ctrl-C when its standard input ends (`arena.programs.leash`).
"""

import sys

from arena.programs.leash import on_leash


def main() -> int:
    from arena.cli.app import run

    return on_leash(lambda: run(sys.argv[1:]))


if __name__ == "__main__":
    sys.exit(main())
