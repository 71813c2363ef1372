// The sliding window of one stream: timestamps and join columns, addressed by sequence number.
//
// Paper: [Gedik] III-A, V-A. Basic windows are stretches of `basic_span` of stream time; since rows are in
// timestamp order each is a range of sequence numbers, and the window is a ring of those ranges.
// Invariants
//   (1) Timestamps are non-decreasing in sequence number.
//   (2) Every column holds exactly rows [begin(), end()).
//   (3) basic windows are contiguous, cover [begin(), end()), and none spans more than basic_span.
// Cost       append O(1) amortised per row; expire_before O(basic windows dropped); lower_bound O(log n).
// Threads    one writer; const calls only while it rests.
// Lifetime   pointers into columns end at the next append.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <variant>
#include <vector>

#include "watersmeet/base/sliding_array.h"
#include "watersmeet/base/types.h"
#include "watersmeet/snapshot/bytes.h"
#include "watersmeet/tuple/column.h"

namespace watersmeet {

using Column = std::variant<KeyColumn, NumberColumn, SetColumn, VectorColumn>;

// A stretch of a window: rows [first, next basic window's first).
struct BasicWindow {
  Seq first = 0;
  Timestamp start = 0;  // the window covers [start, start + basic_span)
};

class Window {
 public:
  // basic_span 0: the whole window is one basic window.
  explicit Window(Duration basic_span = 0) : basic_span_(basic_span) {}

  [[nodiscard]] Seq begin() const { return timestamps.begin(); }
  [[nodiscard]] Seq end() const { return timestamps.end(); }
  [[nodiscard]] std::size_t size() const { return timestamps.size(); }

  // First live row with timestamp >= ts (lower) or > ts (upper); end() if none. O(log of its distance from the front
  // or the back).
  [[nodiscard]] Seq lower_bound(Timestamp ts) const;
  [[nodiscard]] Seq upper_bound(Timestamp ts) const;

  // Extends the ring of basic windows over rows [first, end()), whose timestamps were just appended.
  void close_append(Seq first);
  // Drops all rows before `row` from every column.
  void drop_before(Seq row);
  // Takes back all rows from `row` on.
  void truncate(Seq row);
  // Gives back memory that stands empty.
  void trim();
  // Empties the window; the next row appended gets number `row`.
  void reset(Seq row);

  // The ring of basic windows, whose edges follow from the first row ever seen. Loading throws SnapshotError
  // unless they fit the rows, which must be there already.
  void save_basic_windows(ByteWriter& writer) const;
  void load_basic_windows(ByteReader& reader);

  [[nodiscard]] const std::deque<BasicWindow>& basic_windows() const { return basic_windows_; }
  [[nodiscard]] Duration basic_span() const { return basic_span_; }
  [[nodiscard]] std::size_t bytes() const;

  SlidingArray<Timestamp> timestamps;
  // 0 for a row that can match nothing (null in a join column, NaN in a band column).
  SlidingArray<std::uint8_t> joinable;
  // 1 once a row has been part of a result; kept only if track_matches.
  SlidingArray<std::uint8_t> matched;
  bool track_matches = false;
  // One per term of the predicate; column 0 drives the index.
  std::vector<Column> columns;

 private:
  Duration basic_span_;
  std::deque<BasicWindow> basic_windows_;
};

}  // namespace watersmeet
