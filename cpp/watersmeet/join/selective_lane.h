// Rows of one stream on their way to the server, in the order in which they will be processed.
//
// A row is *known* once it is here, *entered* once its arrival has been judged (kept or dropped), and leaves
// when the server starts it. Invariants
//   (1) begin() <= head <= entered <= end(); rows [head, entered) that are not dropped wait for the server.
//   (2) Timestamps and arrivals are non-decreasing.
// Threads    one writer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "watersmeet/base/sliding_array.h"
#include "watersmeet/join/stage.h"
#include "watersmeet/join/term_set.h"
#include "watersmeet/order/result.h"

namespace watersmeet {

class Lane {
 public:
  explicit Lane(const TermSet& terms) : columns(terms.make_columns(0)) {}

  [[nodiscard]] Seq begin() const { return timestamps.begin(); }
  [[nodiscard]] Seq end() const { return timestamps.end(); }
  [[nodiscard]] bool has_waiting() const { return head < entered; }
  [[nodiscard]] bool has_unentered() const { return entered < end(); }

  // Takes a copy of a row of the stage; it arrived at `arrival`, or later if the row before it did. `met`:
  // how many rows of the other stream come before it, where rows are processed in time order.
  void take(const Stage& stage, Seq row, Timestamp ts, Timestamp arrival, std::uint8_t kind, std::int64_t met,
            TermSet& terms);
  // The next row enters the queue, standing for `weight` rows, or is dropped at its door (weight 0).
  void enter(double weight);
  // The row at the head goes to the server.
  void leave() {
    ++head;
    skip_dropped();
  }

  void begin_change();
  void commit(TermSet& terms);
  void roll_back(TermSet& terms);

  // The smallest number of all rows here; `otherwise` if there is none.
  [[nodiscard]] RowId first_row(RowId otherwise) const;
  // Gives back memory that stands empty.
  void trim();
  [[nodiscard]] std::size_t bytes() const;
  void save(ByteWriter& writer, const TermSet& terms) const;
  void load(ByteReader& reader, TermSet& terms);

  SlidingArray<Timestamp> timestamps;
  SlidingArray<Timestamp> arrivals;
  SlidingArray<std::uint8_t> joinable;
  SlidingArray<std::uint8_t> kinds;
  SlidingArray<RowId> row_ids;
  SlidingArray<std::int64_t> met;
  SlidingArray<double> weights;  // 1 until the row enters; 0: dropped
  std::vector<Column> columns;
  Seq head = 0;
  Seq entered = 0;
  Timestamp last_arrival = kMinTimestamp;

 private:
  void skip_dropped() {
    while (head < entered && weights[head] == 0) ++head;
  }
  template <class Apply>
  void for_each_array(Apply apply);

  struct {
    Seq head = 0;
    Seq entered = 0;
    Seq end = 0;
    Timestamp last_arrival = 0;
  } before_;
};

}  // namespace watersmeet
