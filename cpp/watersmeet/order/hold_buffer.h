// Results kept back until no earlier one can come, released by (timestamp, left row, right row).
//
// Paper: [Hammad] Filter-Order's output heap. Departs from [Hammad]: the min-heap holds sorted runs, one per
// add(), instead of single results, so a result costs a comparison with the next run and not log(results).
// Invariants
//   (1) Each run is sorted, and the heap's top is the run whose next result is the smallest of all.
//   (2) size() counts what was added and not released.
// Cost       add O(n log n), O(n) if the results come sorted; release O(log runs) per change of run.
// Threads    one caller at a time.
#pragma once

#include <cstddef>
#include <vector>

#include "watersmeet/order/result.h"
#include "watersmeet/snapshot/bytes.h"

namespace watersmeet {

class HoldBuffer {
 public:
  // Takes the results over, in any order.
  void add(std::vector<Result> results);
  // Appends to `out`, in order, all results with a timestamp below `bound`.
  void release_before(Timestamp bound, std::vector<Result>& out);
  // The same for all of them.
  void release_all(std::vector<Result>& out);

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t bytes() const;
  // The smallest left (right) row of all results held; kNoRow if there is none.
  [[nodiscard]] RowId first_row(bool left) const;

  void save(ByteWriter& writer) const;
  void load(ByteReader& reader);

 private:
  struct Run {
    std::vector<Result> results;
    std::size_t next = 0;
    [[nodiscard]] const Result& front() const { return results[next]; }
  };
  void push_run(Run run);
  template <class Stop>
  void release_until(Stop stop, std::vector<Result>& out);

  std::vector<Run> heap_;  // a binary min-heap by front()
  std::size_t size_ = 0;
};

}  // namespace watersmeet
