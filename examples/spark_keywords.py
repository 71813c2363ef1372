"""Two folders of JSON files that grow, joined on shared keywords into parquet files, with a progress display.

    python examples/spark_keywords.py [--folder DIR] [--files 6]

Two news agencies write stories with a few keywords each. Stories of the two within ten minutes of each other
that share at least three keywords are paired. The folders are filled while the query runs, one file per
agency and micro-batch; look into DIR/pairs afterwards.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from rich.console import Console

import watersmeet as wm
from watersmeet.spark import configure, join, metrics

AGENCIES = ("north", "south")
WORDS = [f"{stem}{number}" for stem in ("rain", "vote", "market", "match", "court") for number in range(6)]
STORIES = 300  # per file: ten minutes of one agency
SCHEMA = "ts timestamp, story string, keywords array<string>"


def write_stories(folder: Path, number: int) -> None:
    """The next file of each agency; it appears whole."""
    for agency in AGENCIES:
        rng = random.Random(f"{agency}{number}")
        start = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=10 * number)
        (folder / agency).mkdir(parents=True, exist_ok=True)
        hidden = folder / agency / f".{number:04}.json"
        with hidden.open("w") as out:
            for story in range(STORIES):
                ts = start + timedelta(seconds=2 * story + rng.random())
                keywords = rng.sample(WORDS, 5)
                line = {"ts": ts.isoformat(), "story": f"{agency}-{number}-{story}", "keywords": keywords}
                out.write(json.dumps(line) + "\n")
        hidden.rename(folder / agency / f"{number:04}.json")


def run(spark: Any, folder: Path, *, files: int) -> int:
    """Fill the folders and join them as they grow; returns the number of pairs."""
    configure(spark)
    for agency in AGENCIES:
        (folder / agency).mkdir(parents=True, exist_ok=True)
    north, south = (
        spark.readStream.schema(SCHEMA).json(str(folder / agency)).withWatermark("ts", "1 minute")
        for agency in AGENCIES
    )
    pairs = join(north, south, on=wm.overlap("keywords", at_least=3), window="10m", name="stories")
    query = (
        pairs.writeStream.format("parquet")
        .option("path", str(folder / "pairs"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .start()
    )
    console = Console()
    try:
        for number in range(files):
            write_stories(folder, number)
            query.processAllAvailable()
            _show(console, query)
    finally:
        query.stop()
    return int(spark.read.parquet(str(folder / "pairs")).count())


def _show(console: Console, query: Any) -> None:
    seen = metrics(query, "stories")
    rows = seen.total["left_rows"] + seen.total["right_rows"]
    console.print(
        f"batches {seen.batches:>3}  stories {rows:>6,}  pairs {seen.total['results']:>7,}"
        f"  late {seen.total['late_rows']:,}  state {seen.last['state_bytes'] / 1024:>4,.0f} KiB"
        f"  hits {seen.hit_rate:.0%}"
    )


def main() -> None:
    """Start Spark on this machine and run."""
    from pyspark.sql import SparkSession

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--files", type=int, default=6)
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="watersmeet-stories-"))
    # Workers must find watersmeet where this program found it.
    source = str(Path(wm.__file__).parents[1])
    os.environ["PYTHONPATH"] = os.pathsep.join([source, os.environ.get("PYTHONPATH", "")])
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.sql.shuffle.partitions", 2)
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    count = run(spark, folder, files=options.files)
    print(f"{count:,} pairs in {folder / 'pairs'}")
    spark.stop()


if __name__ == "__main__":
    main()
