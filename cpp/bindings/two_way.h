// What the two-way joins share at the border to Python, whether they shed or not: batches in, results out, one caller
// at a time, a user's verdict on candidates, counters by name.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <string>

#include "arrow_batch.h"
#include "prelude.h"
#include "watersmeet/base/errors.h"
#include "watersmeet/join/two_way_join.h"

namespace watersmeet::bindings {

// One caller at a time, and none from within a user's function: the Python side guards, this makes sure.
class Turn {
 public:
  explicit Turn(std::atomic_flag& busy) : busy_(busy) {
    if (busy_.test_and_set()) throw ConfigError("this join is in the middle of another call");
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() { busy_.clear(); }

 private:
  std::atomic_flag& busy_;
};

[[nodiscard]] inline std::size_t checked_stream(std::size_t stream) {
  if (stream >= kSides) throw ConfigError("stream=" + std::to_string(stream) + ": expected 0 or 1");
  return stream;
}

// Bounds of time may exceed 64 bits; beyond 2^66 nothing is left to tell apart.
[[nodiscard]] inline Wide to_wide(const py::int_& value) {
  const py::object high = value.attr("__rshift__")(64);
  const py::object low = value.attr("__and__")(py::int_(UINT64_MAX));
  int overflow = 0;
  const long long top = PyLong_AsLongLongAndOverflow(high.ptr(), &overflow);
  const std::int64_t held = overflow != 0 ? (overflow > 0 ? 4 : -4) : std::clamp<std::int64_t>(top, -4, 4);
  return (Wide{held} << 64) + Wide{low.cast<std::uint64_t>()};
}

// What a user's function says of `candidates` candidates, one boolean each.
[[nodiscard]] inline py::array_t<bool, py::array::c_style> verdicts(const py::object& keep,
                                                                    const py::object& left,
                                                                    const py::object& right,
                                                                    std::size_t candidates) {
  const py::object verdict = keep(left, right);
  auto mask = verdict.cast<py::array_t<bool, py::array::c_style>>();
  if (mask.ndim() != 1 || static_cast<std::size_t>(mask.size()) != candidates) {
    throw SchemaError("keep: expected one boolean per candidate");
  }
  return mask;
}

[[nodiscard]] inline py::dict counts_of(const Side& side, std::size_t pending_rows) {
  py::dict counts;
  counts["rows"] = side.counts.rows + side.counts.thinned_rows;
  counts["dropped_rows"] = side.counts.thinned_rows;
  counts["evicted_rows"] = side.counts.evicted_rows;
  counts["bad_rows"] = side.counts.bad_rows;
  counts["late_rows"] = side.counts.late_rows;
  counts["window_rows"] = side.window.size();
  counts["window_bytes"] = side.bytes();
  counts["expired_rows"] = side.counts.expired_rows;
  counts["pending_rows"] = pending_rows;
  counts["watermark"] = side.watermark == kMinTimestamp ? py::object(py::none()) : py::int_(side.watermark);
  return counts;
}

[[nodiscard]] inline py::dict counts_of(const DirectionCounts& direction) {
  py::dict counts;
  counts["probes"] = direction.work.probes;
  counts["comparisons"] = direction.work.comparisons;
  counts["postings"] = direction.work.postings;
  counts["lookups"] = direction.work.lookups;
  counts["due"] = direction.due;
  counts["done"] = direction.done;
  counts["lost"] = direction.lost;
  counts["shed"] = direction.due - direction.done - direction.lost;
  return counts;
}

}  // namespace watersmeet::bindings
