"""The words of rounds for people."""

_RETURN = ", return "


def verdict_for_people(verdict: str) -> str:
    """The verdict of a round for people: where returns count, a member meets partners.

    The stored words name opponents everywhere, since a round is replayed to the same words.
    """
    return verdict.replace(" common opponent", " common partner") if _RETURN in verdict else verdict
