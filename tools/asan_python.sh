#!/bin/bash
# Python tests over a core built with AddressSanitizer and UBSan. The interpreter itself is not instrumented, so its own
# leaks are not looked for; the sanitizer's runtime must be loaded before it starts.
set -eu
build=build/asan-python
package=$build/package
"$BIN/python" -c 'import sys' # a clear error when the environment is missing
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DWATERSMEET_SANITIZE=address \
    -DWATERSMEET_BUILD_TESTS=OFF -DPython_EXECUTABLE="$PWD/$BIN/python" >/dev/null
cmake --build "$build" --target _native -j "${JOBS:-2}"
rm -rf "$package"
mkdir -p "$package"
cp -r python/watersmeet "$package/"
find "$package" -name '*.so' -delete
cp "$build"/cpp/_native*.so "$package/watersmeet/_core/"
export PYTHONPATH="$PWD/$package" PYTHONMALLOC=malloc
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1
LD_PRELOAD="$(c++ -print-file-name=libasan.so) $(c++ -print-file-name=libstdc++.so)" \
    exec "$BIN/python" -m pytest -p no:cacheprovider tests/python/join tests/properties "$@"
