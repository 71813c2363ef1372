// How long a thread looks for what another is about to do before it sleeps.
//
// A sleep and its end take some tens of microseconds, a look at another core's word a tenth of one. Looking costs
// nobody anything while there is a core for every thread that looks; else it takes the core from the one waited for.
#pragma once

#include <chrono>
#include <cstddef>

namespace watersmeet {

// About what a sleep and its end cost.
inline constexpr std::chrono::microseconds kPatience{50};

// The cores that this process may use.
[[nodiscard]] std::size_t usable_cores();

// Looks at `ready` for a while, at least once. Returns: whether it held.
template <class Ready>
[[nodiscard]] bool look_for(std::chrono::nanoseconds patience, Ready ready) {
  if (ready()) return true;
  if (patience.count() == 0) return false;
  const auto until = std::chrono::steady_clock::now() + patience;
  do {
    for (int look = 0; look < 64; ++look) {
      if (ready()) return true;
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
  } while (std::chrono::steady_clock::now() < until);
  return false;
}

}  // namespace watersmeet
