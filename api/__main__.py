"""`python -P -m api SETTINGS`: runs one service, from taking the lock to the last trainer's end.

SETTINGS is JSON; `arena serve` writes it.
"""

import os
import signal


def main() -> None:
    """Run the service and end this process. Ctrl-C leaves no traceback, also while it loads."""
    try:
        from api.serving import end, run

        end(run())
    except KeyboardInterrupt:
        # Nothing has begun that would have to be saved: a service that runs takes its signals.
        os._exit(128 + signal.SIGINT)


if __name__ == "__main__":
    main()
