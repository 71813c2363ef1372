#!/bin/sh
# Runs every built libFuzzer target for the given number of seconds, one after the other. A finding stays in
# build/fuzz/findings/<target>/ and fails the run; what was learnt stays in build/fuzz/corpus/<target>/.
set -eu
seconds=${1:-60}
built=build/fuzz
found=0
for target in "$built"/cpp/fuzz/fuzz_*; do
    [ -x "$target" ] || continue
    found=1
    name=$(basename "$target")
    mkdir -p "$built/corpus/$name" "$built/findings/$name"
    seeds="cpp/fuzz/seeds/${name#fuzz_}"
    [ -d "$seeds" ] || seeds=""
    echo "fuzz: $name for $seconds s"
    # shellcheck disable=SC2086  # an optional folder
    "$target" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096 -print_final_stats=1 -verbosity=1 \
        -artifact_prefix="$built/findings/$name/" "$built/corpus/$name" $seeds 2>"$built/$name.log" || {
        tail -n 60 "$built/$name.log"
        echo "fuzz: $name FAILED; the input is in $built/findings/$name/"
        exit 1
    }
    grep -E 'number_of_executed_units|new_units_added|peak_rss_mb' "$built/$name.log"
done
if [ "$found" = 0 ]; then
    echo "fuzz: no target was built (cpp/fuzz/*.cc)" >&2
    exit 1
fi
