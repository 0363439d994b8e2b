"""`python -P -m api.http.make_tokens SETTINGS`: makes the token files of a service in advance."""

import json
import sys
from pathlib import Path

from arena.data.private_file import make_secret, read_secret
from arena.data.service_state import service_folder
from arena.data.service_tokens import FILE_TOKENS, token_file
from pbt.errors import PbtError


def main() -> int:
    """Make the missing files, print where they are, and return the exit code."""
    folder = service_folder(Path(json.loads(sys.argv[1])["data"]))
    try:
        for name in FILE_TOKENS:
            path = token_file(folder, name)
            make_secret(path)
            read_secret(path)
            print(f"{name}: {path}")
    except PbtError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
