"""Counts of frames for people."""


def frames_text(frames: int) -> str:
    """Short, and never less than `frames` (three digits, rounded up), so that "the snapshot at
    or below" finds the same one again.
    """
    for unit, letter in ((10**9, "B"), (10**6, "M"), (10**3, "k")):
        if frames >= unit:
            digits = 2 if frames < 10 * unit else 1 if frames < 100 * unit else 0
            whole = -(-frames * 10**digits // unit)
            return (
                f"{whole / 10**digits:.{digits}f}".rstrip("0").rstrip(".") + letter
                if digits
                else f"{whole}{letter}"
            )
    return str(frames)
