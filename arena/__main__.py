"""`python -m arena` and the program `arena`: they start the command line."""

import signal
import sys


def main() -> None:
    """Run the command line. Ctrl-C leaves no traceback, also while the program loads or leaves."""
    try:
        from arena.cli.app import main as command_line

        command_line()
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    finally:
        # The work is over: nothing is left that an interruption would have to save. A process in
        # the background of a script ignores Ctrl-C to its end.
        if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.SIG_DFL)


if __name__ == "__main__":
    main()
