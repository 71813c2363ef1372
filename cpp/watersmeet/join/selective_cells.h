// The rows of one window by cell: stretches of `span` on a grid that is the same for every run.
//
// A row's *place* is its timestamp, or, where a window counts rows, its number among the stream's rows in
// time order. Departs from the window's own ring of basic windows: its edges follow from the first row it
// holds, which depends on when expiry was called; here they are multiples of the span, so that probe plans do
// not depend on batching. Invariants
//   (1) Starts are in strictly increasing order of index and of row.
// Cost       append O(1); cut O(cells).
// Threads    one writer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "watersmeet/base/sliding_array.h"
#include "watersmeet/base/types.h"
#include "watersmeet/snapshot/bytes.h"

namespace watersmeet {

struct CellRows {
  Seq lo = 0;
  Seq hi = 0;
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(hi - lo); }
};

class CellRing {
 public:
  explicit CellRing(Duration span) : span_(span) {}

  [[nodiscard]] std::int64_t index_of(std::int64_t place) const {
    const std::int64_t quotient = place / span_;
    return place % span_ < 0 ? quotient - 1 : quotient;
  }

  // Row `row`, whose place is not below that of the rows before it, was appended.
  void append(std::int64_t place, Seq row);
  // Rows before `row` are gone.
  void drop_before(Seq row);
  // Rows from `row` on are taken back.
  void truncate(Seq row);

  // Divides rows [lo, hi) by age as seen from `now`: out[0] the newest cell and whatever is newer, the last
  // the rest.
  void cut(std::int64_t now, Seq lo, Seq hi, std::span<CellRows> out) const;

  void save(ByteWriter& writer) const { writer.put_sliding(starts_); }
  void load(ByteReader& reader) { reader.get_sliding(starts_); }

 private:
  struct Start {
    std::int64_t index;
    Seq first;
  };
  Duration span_;
  SlidingArray<Start> starts_;
};

}  // namespace watersmeet
