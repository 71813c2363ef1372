// What a two-way join is told once, at its birth; all times and spans in the join's own unit.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "watersmeet/base/types.h"
#include "watersmeet/index/index.h"
#include "watersmeet/predicate/term.h"
#include "watersmeet/tuple/ingest.h"

namespace watersmeet {

// Streams are numbered 0 (left) and 1 (right).
inline constexpr std::size_t kSides = 2;

__extension__ using Wide = __int128;

struct TermConfig {
  Term term;
  Coding coding = Coding::kWord;
  // How many Arrow columns the term takes from each stream's batches.
  std::array<std::size_t, kSides> columns = {1, 1};
  // How messages call it.
  std::string label;
};

struct StreamConfig {
  std::string name;
  std::string time_column;
  // A batch's times count this many of the join's units each.
  std::int64_t time_multiplier = 1;
  // A window of so many rows; without it, a window of time.
  std::optional<std::uint64_t> window_rows;
  // In a window of rows: the oldest that a row may be in a result. A window of time has it in its bound.
  std::optional<Duration> freshness;
  // Length of a basic window; 0: the window is one.
  Duration basic_span = 0;
  // Rows may be out of order by this much; without it, not at all.
  std::optional<Duration> lateness;
  // A late row is an error rather than a number.
  bool raise_late = false;
  IndexKind index = IndexKind::kScan;
  MergeKind merge = MergeKind::kAuto;
  // Expire whole basic windows only.
  bool lazy_expiry = false;
};

enum class How : std::uint8_t { kInner, kLeft, kRight, kFull, kSemi, kAnti };

// When results leave: as they are found; or in order, having processed rows in order across streams
// (Sync-Filter) or as they came (Filter-Order), [Hammad].
enum class Order : std::uint8_t { kNone, kSyncFilter, kFilterOrder };

struct JoinConfig {
  // A conjunction; the first drives the index. Empty: every pair in the window.
  std::vector<TermConfig> terms;
  std::array<StreamConfig, kSides> streams;
  // lower <= right timestamp - left timestamp <= upper. A row-count window ignores its own bound.
  Wide lower = 0;
  Wide upper = 0;
  How how = How::kInner;
  Order order = Order::kNone;
  // Lanes on which rows probe; results and their order are the same for any number.
  std::size_t threads = 1;
  // Tests: cut every change among the lanes, however small.
  bool share_all = false;

  [[nodiscard]] bool has_count_window() const {
    return streams[0].window_rows.has_value() || streams[1].window_rows.has_value();
  }
  // Whether unmatched (or first-matched) rows of this stream are results of their own.
  [[nodiscard]] bool tracks(std::size_t stream) const {
    if (stream == 0) return how == How::kLeft || how == How::kFull || how == How::kSemi || how == How::kAnti;
    return how == How::kRight || how == How::kFull;
  }
};

}  // namespace watersmeet
