// Where the slices of a ring end: per stream, the share of its window up to the end of every place.
//
// Paper: [PSP] 5.4 (streams may be cut into different numbers of slices) and 6 (smoothing, relocation).
// Slices are bounded in rows, so that they stay equally full while rates change; only the tail, the first
// place whose end is the window's, is bounded by time, so the answer does not depend on bounds (SPEC P10).
//
// A ring that changes its length numbers the places of the longer one; those that the shorter one does not
// have are added or leave (SPEC P8). Cut anew at once, rows cross boundaries in one step. Passively, ends move
// as the window is renewed: rows cross them towards the tail as they always do, and nothing pauses. No end
// moves away from the head faster than rows come, since none moves further than the whole window.
//
// Departs from [PSP]: a passive change is timed by rows that have come, and not by seconds, as bounds are; in a
// steady state both are the same.
// Invariants
//   (1) Ends do not decrease along the ring; the last is 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "watersmeet/base/types.h"
#include "watersmeet/slice/cycle.h"

namespace watersmeet {

// No bound in rows: the tail of a stream's ring.
inline constexpr Seq kUnbounded = std::numeric_limits<Seq>::max();

// By place of the longer ring: whether the shorter one lacks it.
[[nodiscard]] std::vector<bool> places_changed(std::size_t before, std::size_t after);

class Boundaries {
 public:
  // Even slices; `lengths` of each stream's window, 0 for as many as there are places.
  Boundaries(std::size_t places, const std::vector<std::size_t>& lengths);

  [[nodiscard]] std::size_t places() const { return ends_.front().size(); }
  // Rows of a window of so many that lie before the end of a place.
  [[nodiscard]] std::uint64_t rows_to_end(std::size_t place, std::size_t stream, std::uint64_t rows) const;
  // How many rows of each stream a place keeps, in windows of so many.
  [[nodiscard]] RowSet bounds(std::size_t place, const RowSet& window_rows) const;

  // Even slices of as many places for all streams, at once.
  void cut_evenly(std::size_t places);
  // The same with time, from the next advance() on.
  void move_towards(std::size_t places);
  [[nodiscard]] bool is_moving() const { return !target_.empty(); }
  // Requires: is_moving(). To where the ends are when the streams have come to these rows; true when they have
  // arrived.
  bool advance(const RowSet& newest, const RowSet& window_rows);
  // Ends the change here: places that leave are gone.
  void settle();
  // Places that are to leave; none while nothing moves.
  [[nodiscard]] const std::vector<bool>& leaving() const { return leaving_; }

 private:
  using Ends = std::vector<std::vector<double>>;  // by stream and place
  Ends ends_;
  Ends start_;
  Ends target_;
  std::vector<bool> leaving_;
  bool begun_ = false;
  RowSet begun_at_ = {};
};

}  // namespace watersmeet
