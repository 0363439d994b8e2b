"""Imports a snapshot that was uploaded: `python -P -m arena.programs.import_check DATA`.

It reads `{"name": NAME, "weights": FILE}` from standard input. The card lies beside the weights, as
`arena import` takes them. It writes one JSON object:

- `{"snapshot": ID}` when the snapshot was imported as imported/NAME, and the chain says so;
- `{"taken": TEXT}` when another snapshot has the name;
- `{"full": TEXT}` when the disk has no room for it;
- `{"problems": [[PLACE, TEXT], ...]}` when a file is refused. PLACE is /name, /card or /weights.

It is a process of its own because it makes the game. Code of a file is never run. No text names a
path of this machine.
"""

import errno
import json
import re
import signal
import sys
from pathlib import Path
from typing import Any

from arena.data.paths import IMPORTED, league_path
from arena.data.snapshot_cards import CardError, card_beside, read_card
from arena.league.chain_notes import record_import
from arena.league.database import open_league
from pbt.envs.names import is_file_name
from pbt.errors import PlayerError, SnapshotError

# Gigabytes of weights are read three times and written once, on a slow disk if need be.
LIMIT_S = 600
_FOLDER = re.compile(r"(?<![\w.:/])/(?:[^/\s:'\"]+/)+")


def imported(name: str, weights: Path, data: Path) -> dict[str, Any]:
    """Imports the snapshot, or says why it cannot be imported."""
    try:
        card = read_card(card_beside(weights))
        # A card that is none is refused before torch loads, which takes seconds.
        from arena.players import exchange
    except CardError as error:
        return _problem("/card", str(error), weights)
    try:
        snapshot_id = exchange.import_snapshot(weights, data, name).snapshot_id
    except exchange.TakenNameError:
        return {
            "taken": f"{IMPORTED}/{name} is another snapshot already; choose another name, or "
            "remove that one first"
        }
    except exchange.ForeignGameError:
        return {"problems": [["/card", _foreign(card.env_name)]]}
    except CardError as error:
        return _problem("/card", str(error), weights)
    except SnapshotError as error:
        return _problem("/weights", str(error), weights)
    except PlayerError as error:
        return _problem("/name", str(error), weights)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        return {"full": "the disk is full: there is no room to keep the snapshot"}
    with open_league(league_path(data)) as league:
        record_import(league, name, snapshot_id)
    return {"snapshot": snapshot_id}


def _foreign(game: str) -> str:
    """Why a game whose code may not be run here refuses its card."""
    if is_file_name(game):
        return (
            f"its game {Path(game.partition(':')[0]).name} is a file, and requests run no code of "
            "files; such a snapshot can be imported only by `arena import` on the service's machine"
        )
    return (
        f"its game {game} is code of a package that this service does not allow; its operator "
        "allows games with `arena serve --allow-games`"
    )


def _problem(place: str, text: str, weights: Path) -> dict[str, Any]:
    """What is wrong with an uploaded file, which is called by what it holds."""
    for path, called in ((card_beside(weights), "card"), (weights, "weights")):
        text = text.replace(f"{called}: {path}", called).replace(str(path), called)
    return {"problems": [[place, _FOLDER.sub("", text)]]}


def main() -> None:
    signal.alarm(LIMIT_S)
    asked = json.load(sys.stdin)
    print(json.dumps(imported(asked["name"], Path(asked["weights"]), Path(sys.argv[1]))))


if __name__ == "__main__":
    main()
