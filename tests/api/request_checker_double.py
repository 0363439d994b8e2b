"""A double for the check of work: all of it can be done. The real one takes seconds."""

import json
import sys

sys.stdin.read()
print(json.dumps({"problems": []}))
