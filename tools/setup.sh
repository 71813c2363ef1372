#!/bin/sh
# Makes sure the system has what the build needs; silent when it has.
#
#   tools/setup.sh build test       any of: build test bench lint fuzz java
#
# As root on a Debian-like system it installs what is missing. Otherwise it prints the one command to run and fails.
# PYTHON names the interpreter that the project's environment will be made from (default: python3).
set -eu

python=${PYTHON:-python3}
missing=""
need() { missing="$missing $*"; }
have() { command -v "$1" >/dev/null 2>&1; }
compiles() { # compiles "<source>" [flags]: can the C++ compiler build and link this?
    source_text=$1
    shift
    printf '%s\n' "$source_text" | "${CXX:-c++}" -std=c++20 -x c++ - -o /dev/null "$@" >/dev/null 2>&1
}

check_python() {
    if ! have "$python"; then
        need python3 python3-venv python3-dev
        return
    fi
    if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
        echo "setup: $python is $("$python" --version 2>&1); watersmeet needs Python 3.11 or newer (set PYTHON=...)" >&2
        exit 1
    fi
    # Debian splits venv and the C headers from its own interpreter; other interpreters bring theirs.
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    "$python" -c 'import ensurepip, venv' 2>/dev/null || need "python$version-venv"
    "$python" -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' ||
        need "python$version-dev"
}

for purpose in "${@:-build}"; do
    case $purpose in
    build)
        have "${CXX:-c++}" || need g++
        have cmake || need cmake
        have ninja || need ninja-build
        check_python
        ;;
    test) compiles '#include <gtest/gtest.h>
int main() { testing::InitGoogleTest(); }' -lgtest -lpthread || need libgtest-dev g++ ;;
    bench) compiles '#include <benchmark/benchmark.h>
int main(int n, char** a) { benchmark::Initialize(&n, a); }' -lbenchmark -lpthread || need libbenchmark-dev g++ ;;
    lint)
        have clang++ || need clang
        have clang-format || need clang-format
        have clang-tidy || need clang-tidy
        ;;
    fuzz)
        have clang++ || need clang
        if ! have clang++ || ! printf '%s\n' \
            'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' |
            clang++ -fsanitize=fuzzer,address -x c++ - -o /dev/null >/dev/null 2>&1; then
            runtime=$(apt-cache depends clang 2>/dev/null | sed -n 's/.*Depends: clang-\([0-9]*\)$/\1/p' | head -n 1)
            need "libclang-rt-${runtime:-14}-dev"
        fi
        ;;
    java) have java || need default-jre-headless ;;
    *)
        echo "setup: unknown purpose '$purpose'; it may be build, test, bench, lint, fuzz or java" >&2
        exit 2
        ;;
    esac
done

[ -n "$missing" ] || exit 0
missing=$(printf '%s\n' $missing | sort -u | tr '\n' ' ')

if ! have apt-get; then
    echo "setup: missing: $missing(Debian package names). Install them with this system's package manager." >&2
    exit 1
fi
if [ "$(id -u)" != 0 ]; then
    echo "setup: something is missing. Run this, then the same make command again:" >&2
    echo "    sudo apt-get update && sudo apt-get install -y --no-install-recommends $missing" >&2
    exit 1
fi
echo "setup: installing $missing"
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086  # a list of package names
apt-get install -y -qq --no-install-recommends $missing >/dev/null 2>&1 || {
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends $missing >/dev/null
}
