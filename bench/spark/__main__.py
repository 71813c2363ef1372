"""The streaming join on Spark against Spark's own, and what it costs. Answers are checked before times count.

    python -m bench.spark                   everything that is not stored yet, each part in its own process
    python -m bench.spark equal             one case: equal, overlap, overlap-small, overhead, rebuild, burst
    python -m bench.spark equal:native-hdfs --again
    python -m bench.spark --table           only print what is stored

A part (a case and a contender) takes at most four minutes, on local[2]; results are kept in --results. The
native joins keep their state on the Java heap: --memory.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.spark.costs import burst, overhead, rebuild
from bench.spark.peers import equal, overlap, overlap_small
from bench.spark.queries import session
from bench.spark.table import print_table

PARTS = {
    "equal": (equal, ("watersmeet", "native-hdfs", "native-rocksdb")),
    "overlap": (overlap, ("watersmeet", "native-prefix")),
    "overlap-small": (overlap_small, ("watersmeet", "native-prefix", "native-explode")),
    "overhead": (overhead, ("watersmeet",)),
    "rebuild": (rebuild, ("watersmeet",)),
    "burst": (burst, ("2s", "no bound")),
}
RESULTS = Path(__file__).parents[1] / "results" / "spark.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("parts", nargs="*", default=list(PARTS))
    parser.add_argument("--again", action="store_true", help="also what is stored already")
    parser.add_argument("--table", action="store_true", help="run nothing")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--memory", default="6g")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    parts = [
        (case, peer)
        for case, _, chosen in (part.partition(":") for part in options.parts)
        for peer in ([chosen] if chosen else PARTS[case][1])
    ]
    if options.inside:
        _measure(*parts[0], options)
        return
    for case, peer in [] if options.table else parts:
        if options.again or peer not in _stored(options.results).get(case, {}):
            command = [sys.executable, "-m", "bench.spark", f"{case}:{peer}", "--inside"]
            subprocess.run([*command, "--results", options.results, "--memory", options.memory], check=True)
    print_table(_stored(options.results))


def _measure(case: str, peer: str, options: Any) -> None:
    """One part, in this process, stored."""
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        spark = session(Path(folder), memory=options.memory)
        result = PARTS[case][0](spark, Path(folder) / case, peer)
        result |= {"load_average": [round(load, 1), round(os.getloadavg()[0], 1)]}
        result |= {"measured": time.strftime("%Y-%m-%d %H:%M")}
        stored = _stored(options.results)
        stored.setdefault(case, {})[peer] = result
        options.results.write_text(json.dumps(stored, indent=1) + "\n")
        spark.stop()


def _stored(path: Path) -> dict[str, dict[str, Any]]:
    return json.loads(path.read_text()) if path.exists() else {}


if __name__ == "__main__":
    main()
