"""Counts of frames are written for people here."""


def frames_text(frames: int) -> str:
    """The count with three digits, such as "1.21M". It is rounded up.

    A name such as demo/m0@1.21M means the snapshot at or below that count, so a rounded-up count
    finds the same snapshot again.
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
