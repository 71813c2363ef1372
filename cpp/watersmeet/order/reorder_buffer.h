// Rows that arrived and wait for their turn, by (timestamp, arrival).
//
// Holds the order only; the rows themselves stand where they arrived and are named by their place there.
// A transaction (begin ... commit or roll_back) can be undone: additions and take() leave no trace then.
// Invariants
//   (1) Entries are sorted by (timestamp, row).
//   (2) Between begin() and its end, entries taken are still in memory.
// Cost       add O(new) if they are not older than those waiting, else O(new log new + entries moved).
// Threads    one caller at a time.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "watersmeet/base/sliding_array.h"
#include "watersmeet/base/types.h"
#include "watersmeet/snapshot/bytes.h"

namespace watersmeet {

struct WaitingRow {
  Timestamp ts = 0;
  Seq row = 0;

  friend bool operator<(const WaitingRow& a, const WaitingRow& b) {
    return a.ts != b.ts ? a.ts < b.ts : a.row < b.row;
  }
};

class ReorderBuffer {
 public:
  void begin();
  // Adds rows in order of arrival; each row number is above all that were added before.
  void add(std::span<const WaitingRow> rows);
  // The first row still waiting. Requires: !empty().
  [[nodiscard]] const WaitingRow& front() const { return entries_[next_]; }
  // Removes the first row.
  void take() { ++next_; }
  void commit();
  void roll_back();

  [[nodiscard]] bool empty() const { return next_ == entries_.end(); }
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(entries_.end() - next_); }
  [[nodiscard]] std::size_t bytes() const {
    return entries_.bytes() + moved_.capacity() * sizeof(WaitingRow);
  }
  // Gives back memory that stands empty; between transactions only.
  void trim() {
    entries_.trim();
    moved_.shrink_to_fit();
  }
  // The smallest row number waiting; `otherwise` if none is.
  [[nodiscard]] Seq first_row(Seq otherwise) const;

  void save(ByteWriter& writer) const { writer.put_sliding(entries_); }
  // Throws SnapshotError unless the rows are sorted and lie in [first, last).
  void load(ByteReader& reader, Seq first, Seq last);

 private:
  SlidingArray<WaitingRow> entries_;
  SlidingArray<WaitingRow>::Position next_ = 0;
  // To undo: where things stood at begin(), and the entries from kept_ on as they were.
  SlidingArray<WaitingRow>::Position next_before_ = 0;
  SlidingArray<WaitingRow>::Position kept_ = 0;
  std::vector<WaitingRow> moved_;
};

}  // namespace watersmeet
