"""A double for the check of an uploaded snapshot: it reads the card, and takes any weights of the
card's size. The real one loads torch and the game, which takes seconds.
"""

import json
import shutil
import sys
from pathlib import Path

from arena.data.snapshot_cards import CardError, card_beside, card_path, read_card, weights_folder

asked, data = json.load(sys.stdin), Path(sys.argv[1])
weights, there = Path(asked["weights"]), card_path(data, asked["name"])
try:
    card = read_card(card_beside(weights))
except CardError:
    print(json.dumps({"problems": [["/card", "card: no card of a snapshot"]]}))
else:
    if there.exists() and read_card(there) != card:
        print(json.dumps({"taken": "it is another snapshot already"}))
    elif weights.stat().st_size != card.size_bytes:
        print(json.dumps({"problems": [["/weights", "weights: of another size"]]}))
    else:
        weights_folder(data).mkdir(parents=True, exist_ok=True)
        shutil.copy(weights, weights_folder(data) / f"{card.snapshot_id}.safetensors")
        there.write_bytes(card_beside(weights).read_bytes())
        print(json.dumps({"snapshot": card.snapshot_id}))
