"""A double for the check of a match: every match can be played. The real one takes seconds."""

import json
import sys

sys.stdin.read()
print(json.dumps({"problem": None}))
