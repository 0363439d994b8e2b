"""A double for the config checker: it says of every config that it has one role and one member.

Used where the game does not matter; the real checker takes a second to load.
"""

import json
import sys

sys.stdin.read()
found = {"problems": [], "roles": [["m0", "player"]], "objective": "win", "refusal": None}
print(json.dumps(found))
