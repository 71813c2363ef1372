// What slices work on: cycles, one per arriving row, and the messages that travel between slices.
//
// Paper: [PSP] 4.1. A cycle is everything that one row causes: the row moves older rows towards the tail,
// meets the slices of the next window in its ordering, and each partial result goes once round the ring to
// meet the window after that. END messages tell the head when a round is complete (SPEC P6).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "watersmeet/base/types.h"
#include "watersmeet/slice/config.h"
#include "watersmeet/slice/store.h"
#include "watersmeet/slice/visits.h"

namespace watersmeet {

// One row number per stream.
using RowSet = std::array<Seq, kMostStreams>;

// One arriving row, and the rows of each window that it may meet: [oldest, newest).
struct Cycle {
  std::size_t stream = 0;
  Seq row = 0;
  RowSet oldest = {};
  RowSet newest = {};
};

// A result, or a candidate for one: `members` has a bit for each stream whose row is known.
struct Found {
  std::uint32_t cycle = 0;
  std::uint32_t members = 0;
  RowSet rows = {};
};

enum class MessageKind : std::uint8_t {
  kProbe,    // the row itself; rows[s] is where the rows of stream s that move with it end
  kPartial,  // a partial result
  kEnd,      // no more partial results of this step will come
};

struct Message {
  MessageKind kind = MessageKind::kEnd;
  std::uint8_t step = 0;     // of a partial: windows joined so far; of an END: its number
  std::uint16_t origin = 0;  // the slice that made a partial result, and drops it
  std::uint32_t cycle = 0;
  RowSet rows = {};
};

// Where rows made of the streams in `members` probed stream `other`: pairs within the window's bounds,
// evaluations of terms and checks (or entries of an index read instead), and pairs that were kept.
struct StepCount {
  std::uint64_t due = 0;
  std::uint64_t compared = 0;
  std::uint64_t kept = 0;
};

// Decides about candidates that the core cannot: keep[i] of found[i], all with the same members. `check`
// numbers SliceConfig::checks. May be called by several threads at once, and may throw.
using Check = std::function<void(std::size_t check, std::span<const Found> found, std::uint8_t* keep)>;

// Everything about a run of cycles that its slices read and none of them writes.
struct Run {
  const SliceConfig* config = nullptr;
  const SliceStore* store = nullptr;
  const Check* check = nullptr;
  std::vector<Cycle> cycles;
  // For rows of each stream, the others in the order in which they are probed.
  std::vector<std::vector<std::size_t>> orderings;
  // Rows in each stream's window, on the average of the cycles.
  RowSet window_rows = {};
  // A cycle's row may be older than rows that it meets.
  bool two_sided = false;
  // Which rows of the windows the cycles look at; none: all that they may meet.
  const Visits* visits = nullptr;

  [[nodiscard]] std::size_t streams() const { return config->streams.size(); }
};

// The partial result that a cycle begins with: its row alone.
[[nodiscard]] inline Found first_partial(const Run& run, std::uint32_t cycle) {
  const std::size_t stream = run.cycles[cycle].stream;
  Found found{cycle, std::uint32_t{1} << stream, {}};
  found.rows[stream] = run.cycles[cycle].row;
  return found;
}

}  // namespace watersmeet
