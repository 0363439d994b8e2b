"""Prints the rating table of a population with the Python client that was generated.

`python rating_table.py URL TOKEN POPULATION`, with the client on the path as `arena_client`.
"""

import sys

from arena_client import AuthenticatedClient
from arena_client.api.league import get_ratings
from arena_client.models import EloRatedBody, EloTableBody


def main(url: str, token: str, population: str) -> None:
    with AuthenticatedClient(base_url=url, token=token) as client:
        table = get_ratings.sync(client=client, population=population)
    if not isinstance(table, EloTableBody):
        sys.exit(f"found {table}; expected a table of Elo")
    for row in table.players:
        assert isinstance(row, EloRatedBody)
        elo = "?" if row.elo is None else f"{row.elo:.0f}"
        print(row.rank, row.player, elo, row.games)


if __name__ == "__main__":
    main(*sys.argv[1:])
