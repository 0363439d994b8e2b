"""AnswerColumns in columns against lists by seat."""

import numpy as np

from pbt.sampling.answers import AnswerColumns

SEATS = 6


def test_they_are_those_of_lists() -> None:
    rng, most = np.random.default_rng(1), 0
    answers, twin = AnswerColumns(SEATS), {seat: list[tuple[int, int]]() for seat in range(SEATS)}
    for version in range(40):
        some = rng.choice(SEATS, rng.integers(0, SEATS + 1), replace=False)
        weights = int(rng.integers(0, 2**63 - 1))
        if version % 7 == 3:
            answers.clear(some)
            for seat in some.tolist():
                twin[seat].clear()
        answers.add(some, version, weights)
        for seat in some.tolist():
            twin[seat].append((version, weights))
        asked = rng.permutation(SEATS)[:4]
        columns = (column.tolist() for column in answers.among(asked))
        assert list(zip(*columns, strict=True)) == [
            (place, *one) for place, seat in enumerate(asked.tolist()) for one in twin[seat]
        ]
        most = max(most, *map(len, twin.values()))
    assert all(answers.of(seat) == twin[seat] for seat in range(SEATS))
    assert most > 4, "there was room for two at first"
