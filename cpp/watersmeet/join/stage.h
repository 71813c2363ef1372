// Rows of one stream that have arrived and are not in the window yet, in order of arrival.
//
// Rows go through here when they may have to wait: with a lateness, or when rows of all streams are processed
// in one order. Bad (timeless) and late rows are here too, but never wait in the reorder buffer.
// Invariants
//   (1) Arrays and columns hold the same rows [begin(), end()); every waiting row is one of them.
// Threads    one writer.
#pragma once

#include <cstddef>
#include <vector>

#include "watersmeet/base/sliding_array.h"
#include "watersmeet/join/term_set.h"
#include "watersmeet/order/reorder_buffer.h"
#include "watersmeet/order/result.h"

namespace watersmeet {

class Stage {
 public:
  explicit Stage(const TermSet& terms) : columns(terms.make_columns(0)) {}

  [[nodiscard]] Seq begin() const { return joinable.begin(); }
  [[nodiscard]] Seq end() const { return joinable.end(); }

  void begin_change() {
    end_before_ = end();
    waiting.begin();
  }
  void roll_back(TermSet& terms);
  // Rows no longer waited for are dropped now and then, so that it costs O(1) per row.
  void commit(TermSet& terms);

  // Drops every row no longer waited for; between changes only.
  void forget_unneeded(TermSet& terms) { drop_before(waiting.first_row(end()), terms); }
  // Gives back what stands empty; between changes only.
  void trim();
  [[nodiscard]] std::size_t bytes() const;
  void save(ByteWriter& writer, const TermSet& terms) const;
  void load(ByteReader& reader, TermSet& terms);

  SlidingArray<std::uint8_t> joinable;
  SlidingArray<RowId> row_ids;
  std::vector<Column> columns;
  ReorderBuffer waiting;

 private:
  void drop_before(Seq first, TermSet& terms);

  Seq end_before_ = 0;
};

}  // namespace watersmeet
