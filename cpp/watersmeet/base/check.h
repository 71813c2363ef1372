// WATERSMEET_CHECK(condition): an invariant of the core, verified in test and sanitizer builds.
//
// Never guards user input: that is checked where it enters and raises an error of its own.
#pragma once

#if defined(WATERSMEET_CHECKS)
#define WATERSMEET_CHECK(condition) ((condition) ? void(0) : __builtin_trap())
#else
#define WATERSMEET_CHECK(condition) void(0)
#endif
