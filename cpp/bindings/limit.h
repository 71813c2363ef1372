// The memory limit of a join, as its bindings keep it: how much the core may take, and what to do beyond
// that.
#pragma once

#include <malloc.h>

#include <cstddef>
#include <optional>
#include <string>

#include "watersmeet/base/errors.h"
#include "watersmeet/base/pages.h"
#include "watersmeet/base/thrift.h"

namespace watersmeet::bindings {

class Limit {
 public:
  // The core may take `room` bytes. may_evict: windows will be cut to fit after a change, so that only what
  // cannot be cut has to fit by itself.
  void set(std::size_t room, bool may_evict) {
    room_ = room;
    may_evict_ = may_evict;
  }
  [[nodiscard]] bool is_set() const { return room_.has_value(); }

  // Throws MemoryLimitError if the change under way does not fit.
  template <class Core>
  void check(const Core& join) const {
    if (!room_.has_value()) return;
    const std::size_t needed = may_evict_ ? join.waiting_bytes() : join.bytes();
    if (needed <= *room_) return;
    throw MemoryLimitError(
        std::string(may_evict_ ? "results held back and rows that wait" : "windows and batch") + " take " +
        std::to_string(needed) + " bytes, and " + std::to_string(*room_) + " are left of memory_limit");
  }

  // Gives what was freed back to the system, which allocators do not by themselves.
  static void release() {
    release_kept_pages();
#if defined(__GLIBC__)
    malloc_trim(0);
#endif
  }

  // Gives all that stands empty back to the system.
  template <class Core>
  static void trim(Core& join) {
    const Thrift thrift(true);
    join.trim();
    release();
  }

 private:
  std::optional<std::size_t> room_;
  bool may_evict_ = false;
};

}  // namespace watersmeet::bindings
