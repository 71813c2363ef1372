// WATERSMEET_CLONES: compile a loop once per vector width and pick by CPU when the library is loaded.
//
// Only where the tool chain can: GCC on x86-64 Linux. Sanitizers instrument the resolver, which runs before
// they are set up, so their builds take the portable body. Elsewhere the loops are plain C++ all the same.
#pragma once

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define WATERSMEET_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define WATERSMEET_CLONES
#endif
