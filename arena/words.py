"""Numbers in sentences."""


def number_of(count: int, noun: str, several: str | None = None) -> str:
    """(1, "seed pair") -> "1 seed pair"; (1200, "seed pair") -> "1200 seed pairs".

    several: what more than one, or none, are called, where it is not the noun with an s.
    """
    return f"{count} {noun if count == 1 else several or f'{noun}s'}"
