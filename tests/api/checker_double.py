"""A double for the config checker: it says of every config that it has one role and one member.

Used where the game does not matter; the real checker takes a second to load.
"""

import json
import sys

model = json.load(sys.stdin)["model"]
found = {"problems": [], "roles": [["m0", "player"]], "objective": "win", "refusal": None}
found |= {"model": model, "unfit": []}
print(json.dumps(found))
