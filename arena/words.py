"""Numbers in sentences."""

_UNITS = ("B", "kB", "MB", "GB")


def number_of(count: int, noun: str, several: str | None = None) -> str:
    """(1, "seed pair") -> "1 seed pair"; (1200, "seed pair") -> "1200 seed pairs".

    several: what more than one, or none, are called, where it is not the noun with an s.
    """
    return f"{count} {noun if count == 1 else several or f'{noun}s'}"


def bytes_text(count: float) -> str:
    """1234567 -> "1.2 MB"."""
    for unit in _UNITS[:-1]:
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} {_UNITS[-1]}"
