"""Says of every config that its game has one role and one member. Used where the game does not
matter; a real one takes a second to load.
"""

import json
import sys

sys.stdin.read()
print(json.dumps({"problems": [], "roles": [["m0", "player"]]}))
