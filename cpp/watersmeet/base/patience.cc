#include "watersmeet/base/patience.h"

#include <algorithm>
#include <thread>

#if defined(__linux__)
#include <sched.h>
#endif

namespace watersmeet {

std::size_t usable_cores() {
#if defined(__linux__)
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof(cores), &cores) == 0) {
    return std::max<std::size_t>(1, static_cast<std::size_t>(CPU_COUNT(&cores)));
  }
#endif
  return std::max<std::size_t>(1, std::thread::hardware_concurrency());
}

}  // namespace watersmeet
