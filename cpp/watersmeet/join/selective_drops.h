// What rows dropped at the door took with them, judged by those that came in.
//
// A row that was kept with probability p stands for 1 / p rows (its *weight*), a pair for the product of its
// members' weights (Horvitz and Thompson): the sum over all results is an unbiased estimate of what they
// would have been without drops, as long as each p is known when the row arrives, whatever it depends on. Its
// variance, for rows a, b with weights w and weighted degree r_a = sum of w_b over results (a, b), is
// estimated without bias by
//   sum_a w_a (w_a - 1) r_a^2 + the same over b - sum over results of w_a (w_a - 1) w_b (w_b - 1).
//
// Where a full buffer turns rows away there is no such p; the share that was let in lately is taken for it
// (Door). Invariants
//   (1) Weights and degrees are those of the window's rows; rows of weight 1 have degree 0, since it does not
//   matter. (2) Sums are taken in the order of rows and of results, so they do not depend on batching.
// Threads    one caller at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "watersmeet/base/sliding_array.h"
#include "watersmeet/base/types.h"
#include "watersmeet/join/config.h"
#include "watersmeet/snapshot/bytes.h"

namespace watersmeet {

// The share of rows that found room, of the last hundred or so.
class Door {
 public:
  // Returns: the share, this row included.
  double offer(bool has_room) {
    room_ += ((has_room ? 1.0 : 0.0) - room_) / kMemory;
    if (room_ > 0.999) room_ = 1;
    return room_;
  }

 private:
  static constexpr double kMemory = 64;
  double room_ = 1;
};

class DropWeights {
 public:
  // What a change may alter and that is small enough to be copied.
  struct Sums {
    std::array<double, kSides> weighed = {};  // by probing stream: what the results stand for
    double rows = 0;                          // of the variance: rows that have left their window
    double pairs = 0;                         // of the variance: results
  };

  void append(std::size_t stream, double weight) {
    weights_[stream].push_back(weight);
    degrees_[stream].push_back(0);
  }
  // A result of rows `own`, which probed, and `other` came to be.
  void add_result(std::size_t stream, Seq own, Seq other);
  // Rows of the window before `row` are gone.
  void drop_before(std::size_t stream, Seq row);

  void begin_change() {
    before_ = sums_;
    changed_.clear();
  }
  // Rows from `ends` on, and all results of the change, are taken back.
  void roll_back(const std::array<Seq, kSides>& ends);

  [[nodiscard]] double weighed(std::size_t stream) const { return sums_.weighed[stream]; }
  // The variance of all that results stand for.
  [[nodiscard]] double variance() const;

  [[nodiscard]] std::size_t bytes() const;
  // The sums alone, and the rows with them.
  void save_sums(ByteWriter& writer) const;
  void load_sums(ByteReader& reader);
  void save(ByteWriter& writer) const;
  void load(ByteReader& reader);

 private:
  struct Changed {
    std::size_t stream;
    Seq row;
    double degree;  // before
  };
  void add_degree(std::size_t stream, Seq row, double weight);
  [[nodiscard]] double spread(std::size_t stream, Seq row) const {
    const double weight = weights_[stream][row];
    const double degree = degrees_[stream][row];
    return weight * (weight - 1) * degree * degree;
  }

  std::array<SlidingArray<double>, kSides> weights_;
  std::array<SlidingArray<double>, kSides> degrees_;
  Sums sums_;
  Sums before_;
  std::vector<Changed> changed_;
};

}  // namespace watersmeet
