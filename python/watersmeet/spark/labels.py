"""Group keys that spread over shuffle partitions: one bucket per partition, none of them shared.

Spark sends a group to partition pmod(hash(key), partitions), with Murmur3 as its hash. Numbers 0, 1, 2, ...
collide there like any others, so the keys are chosen by what they hash to.
"""

from __future__ import annotations

__all__ = ["labels", "spark_hash"]

_MASK = 0xFFFFFFFF
_SEED = 42


def labels(buckets: int, shuffle_partitions: int) -> tuple[int, ...]:
    """A key for each bucket, each in a partition of its own while there are enough.

    The first is always 0: whatever the numbers, that bucket keeps its name, and with it the record of how
    the join was divided.
    """
    chosen = [0]
    used = {spark_hash(0) % shuffle_partitions}
    candidate = 0
    while len(chosen) < buckets:
        candidate += 1
        place = spark_hash(candidate) % shuffle_partitions
        if place in used:
            continue
        chosen.append(candidate)
        used.add(place)
        if len(used) == shuffle_partitions:
            used.clear()
    return tuple(chosen)


def spark_hash(value: int) -> int:
    """Spark's hash(int): Murmur3 x86 32 of four bytes with seed 42, as a signed number."""
    word = (value & _MASK) * 0xCC9E2D51 & _MASK
    word = _rotated(word, 15) * 0x1B873593 & _MASK
    mixed = _rotated(_SEED ^ word, 13) * 5 + 0xE6546B64 & _MASK
    mixed ^= 4
    mixed = (mixed ^ mixed >> 16) * 0x85EBCA6B & _MASK
    mixed = (mixed ^ mixed >> 13) * 0xC2B2AE35 & _MASK
    mixed ^= mixed >> 16
    return mixed - (1 << 32) if mixed >> 31 else mixed


def _rotated(word: int, by: int) -> int:
    return (word << by | word >> 32 - by) & _MASK
