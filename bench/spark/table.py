"""The stored results, side by side: contenders only on micro-batches that both have ended, and agreed on."""

from __future__ import annotations

import statistics
from typing import Any

__all__ = ["print_table"]

# Micro-batches before times count: until the windows are full and the JVM is warm.
SKIP = {"equal": 3, "overlap": 1, "overlap-small": 4}


def print_table(stored: dict[str, dict[str, Any]]) -> None:
    """Everything that was measured, with the targets."""
    targets = {
        "equal": "4 x native-hdfs, 10 x native-rocksdb",
        "overlap": "20 x the best native",
        "overlap-small": "none",
    }
    for case, target in targets.items():
        if case in stored:
            print(f"\n{case} (target: {target})")
            _print_race(stored[case], SKIP[case])
    if "overhead" in stored:
        _print_overhead(stored["overhead"]["watersmeet"])
    if "rebuild" in stored:
        print(f"\nrebuild (target: 1 M rows in 2 s): {_brief(stored['rebuild']['watersmeet'])}")
    if "burst" in stored:
        _print_burst(stored["burst"])


def _print_race(peers: dict[str, Any], skip: int) -> None:
    ours = peers.get("watersmeet")
    for name, result in peers.items():
        ended = len(result["batch_ms"])
        if ended <= skip:
            print(f"  {name:16} ended {ended} micro-batches in its time")
            continue
        line = f"  {name:16}{_speed(result, skip, ended):>10,} rows/s over micro-batches {skip}-{ended - 1}"
        if ours is not None and name != "watersmeet":
            pairs = sum(ours["batch_pairs"][:ended])
            if pairs != result["pairs"]:
                raise SystemExit(f"{name} found {result['pairs']} pairs where watersmeet found {pairs}")
            ratio = _speed(ours, skip, ended) / _speed(result, skip, ended)
            line += f"   watersmeet is {ratio:.1f} x, the same pairs"
        print(line)
        print(f"{'':18}seconds per micro-batch {[round(ms / 1000, 1) for ms in result['batch_ms']]}")
        print(f"{'':18}{_brief(result)}")


def _speed(result: dict[str, Any], skip: int, ended: int) -> int:
    rows, milliseconds = (sum(result[name][skip:ended]) for name in ("batch_rows", "batch_ms"))
    return round(1000 * rows / max(1, milliseconds))


def _print_overhead(result: dict[str, Any]) -> None:
    print("\noverhead (target: +150): milliseconds of a micro-batch of 20 rows, median (least)")
    for name, batches in result["batch_ms"].items():
        over = {
            base: statistics.median(batches) - statistics.median(result["batch_ms"][base])
            for base in ("empty", "event time")
        }
        print(
            f"  {name:16}{statistics.median(batches):>6.0f} ({min(batches)})   over the empty"
            f" query {over['empty']:+.0f}, over one with a watermark {over['event time']:+.0f}"
        )


def _print_burst(peers: dict[str, Any]) -> None:
    print("\nburst (target: within the bound after two): 5 x the rows from the fifth micro-batch on")
    for name, result in peers.items():
        print(f"  {name:10} join seconds {result['join_s']}\n{'':13}recall {result['recall']}")
        if any(result["rows_s"]):
            print(f"{'':13}rows alone, whatever is shed {result['rows_s']}")
    if len(peers) == 2:
        bounded, free = peers["2s"], peers["no bound"]
        value, low, high = bounded["recall_so_far"]
        print(
            f"{'':13}recall over all: true {bounded['pairs'] / free['pairs']:.3f}, reported {value}"
            f" ({low} to {high})"
        )


def _brief(result: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in result.items() if not k.startswith("batch_")}
