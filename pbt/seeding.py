"""Random streams, keyed by what they are for and never by arrival order or time.

`generator(seed, "init", 3)` is the same stream for every caller at any time. Action noise is
counter-based: each draw is one hash of (game key, seat, step, head), so neither the process that
computes a batch nor its order changes the noise.
"""

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Key = int | str

# 2**10 members are kept apart.
_STRATA_BITS = 10

STREAMS = 2
"""How the games of a training follow from its seed, its tables and their counts. 1: a stream of its
own for every game, by hashes; 2: `counted`, for many games at once. Stored with every start.
"""


def digest(seed: int, *key: Key) -> bytes:
    """32 bytes that depend on every part of the key and on its boundaries."""
    return hashlib.blake2b(repr((seed, *key)).encode(), digest_size=32).digest()


def integer(seed: int, *key: Key, bits: int = 63) -> int:
    """A uniform integer in [0, 2**bits)."""
    return int.from_bytes(digest(seed, *key)[:16], "little") % (1 << bits)


def uniform(seed: int, *key: Key) -> float:
    """One uniform number in [0, 1)."""
    return integer(seed, *key, bits=53) / 2.0**53


def hashed(keys: Sequence[tuple[Key, ...]]) -> NDArray[np.float64]:
    """`uniform(*key)` of many keys, [N]; the first part of each is the seed."""
    digests = b"".join(
        [hashlib.blake2b(repr(key).encode(), digest_size=32).digest() for key in keys]
    )
    bits = np.frombuffer(digests, "<u8")[::4] & np.uint64(2**53 - 1)
    return bits.astype(np.float64) / 2.0**53


def stratified(seed: int, number: int, *key: Key) -> float:
    """The `number`-th of a sequence of uniform numbers in [0, 1) that keep apart.

    Of the first 2**k, and of each further 2**k, one lies in each interval of length 2**-k; which
    one is random. A van der Corput sequence, scrambled as in Owen 1995, "Randomly permuted
    (t,m,s)-nets and (t,s)-sequences".
    """
    value = uniform(seed, *key, number) / 2.0**_STRATA_BITS
    for place in range(_STRATA_BITS):
        flipped = integer(seed, *key, "flip", place, number % (1 << place), bits=1)
        value += ((number >> place & 1) ^ flipped) / 2.0 ** (place + 1)
    return value


def generator(seed: int, *key: Key) -> np.random.Generator:
    """A stream of its own for this key."""
    return np.random.Generator(
        np.random.Philox(key=int.from_bytes(digest(seed, *key)[:16], "little"))
    )


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


def _splitmix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The 64-bit finaliser of SplitMix.

    Steele, Lea & Flood 2014, "Fast splittable pseudorandom number generators".
    """
    values = (values ^ (values >> np.uint64(30))) * _MIX_1
    values = (values ^ (values >> np.uint64(27))) * _MIX_2
    return values ^ (values >> np.uint64(31))


def counted(
    key: int, tables: NDArray[np.int64], counts: NDArray[np.int64], draws: int
) -> NDArray[np.uint64]:
    """Integers of 64 bits for games, [N, draws], by counters: no game needs a stream of its own.

    key     of the run and of what they are for, of 64 bits
    tables  [N], of the games
    counts  [N], the running number of each game at its table
    """
    keys = _splitmix(np.uint64(key) + tables.astype(np.uint64) * _GOLDEN)
    keys = _splitmix(keys + counts.astype(np.uint64) * _GOLDEN)
    number = np.arange(1, draws + 1, dtype=np.uint64)
    return _splitmix(keys[:, None] + number[None, :] * _GOLDEN)


def uniforms(integers: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Numbers in [0, 1) from the upper bits of integers."""
    return (integers >> np.uint64(11)).astype(np.float64) * 2.0**-53


def game_seeds(
    seed: int, tables: NDArray[np.int64], counts: NDArray[np.int64], streams: int = STREAMS
) -> NDArray[np.int64]:
    """The seeds of a training's games, [N], each in [0, 2**31). streams: see `STREAMS`."""
    if streams == 1:
        places = zip(tables.tolist(), counts.tolist(), strict=True)
        return np.array([integer(seed, "game seed", *place, bits=31) for place in places], np.int64)
    drawn = counted(integer(seed, "game seeds", bits=64), tables, counts, 1)[:, 0]
    return (drawn >> np.uint64(33)).astype(np.int64)


def game_seed(seed: int, table: int, count: int, streams: int = STREAMS) -> int:
    """That of one game. streams: see `STREAMS`."""
    return int(game_seeds(seed, np.array([table]), np.array([count]), streams)[0])


def action_uniforms(
    keys: NDArray[np.uint64], steps: NDArray[np.uint64], heads: int
) -> NDArray[np.float64]:
    """Uniforms in [0, 1) for sampling actions, [N, heads].

    keys   [N], one per (game, seat): see `seat_key`
    steps  [N], the number of actions that the seat took before in this game
    """
    head = np.arange(1, heads + 1, dtype=np.uint64)
    return uniforms(_splitmix(_splitmix(keys + steps * _GOLDEN)[:, None] + head[None, :] * _GOLDEN))


def seat_key(seed: int, *key: Key) -> int:
    """A 64-bit key for `action_uniforms`.

    It is made of, for example, (run seed, "action", environment, game count, seat).
    """
    return integer(seed, *key, bits=64)


def seat_keys(seed: int, games: Sequence[tuple[Key, ...]], seats: int) -> NDArray[np.uint64]:
    """`seat_key(seed, *game, seat)` for all seats of many games, [N * seats], game by game."""
    ends = [f", {seat})".encode() for seat in range(seats)]
    begun = (repr((seed, *game))[:-1].encode() for game in games)
    digests = [
        hashlib.blake2b(head + end, digest_size=32).digest() for head in begun for end in ends
    ]
    return np.frombuffer(b"".join(digests), "<u8")[::4].astype(np.uint64)
