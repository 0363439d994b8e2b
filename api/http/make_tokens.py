"""`python -P -m api.http.make_tokens SETTINGS`: makes the token files of a service in advance."""

import json
import sys
from pathlib import Path

from api.http.tokens import TOKEN_FILES, read_or_make
from arena.data.service_state import service_folder
from pbt.errors import PbtError


def main() -> int:
    """Make the missing files, print where they are, and return the exit code."""
    folder = service_folder(Path(json.loads(sys.argv[1])["data"]))
    try:
        for level, name in TOKEN_FILES.items():
            read_or_make(folder / name)
            print(f"{level}: {folder / name}")
    except PbtError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
