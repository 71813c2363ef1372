// Columns on their way out: a batch of fixed-width Arrow columns in memory of its own, handed over without a
// copy.
//
// Use: begin(), then add() and fill each column, then give slot() to an Arrow library, which takes the batch
// over (it moves the structure and clears slot()->release). Invariants
//   (1) slot()->release is null, or slot() is a whole batch that nobody has taken.
// Threads    one caller; what was taken may be released on any thread.
// Lifetime   memory of a batch lives until its taker releases it; a batch that nobody took goes with the next
// one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "watersmeet/tuple/arrow_abi.h"

namespace watersmeet {

class ArrowOut {
 public:
  // Where a column's values go, and its validity bits (null: every row is valid).
  struct Column {
    std::byte* values;
    std::uint8_t* validity;
  };

  ArrowOut() = default;
  ArrowOut(const ArrowOut&) = delete;
  ArrowOut& operator=(const ArrowOut&) = delete;
  ~ArrowOut() { drop(); }

  // Starts a batch of so many rows and columns.
  void begin(std::size_t rows, std::size_t columns);
  // The next column: room for `bytes` bytes of values, uninitialised, and zeroed validity bits where asked
  // for.
  [[nodiscard]] Column add(std::size_t bytes, bool has_validity);
  // A batch that was begun and will not be finished.
  void drop();

  [[nodiscard]] ArrowArray* slot() { return &slot_; }

 private:
  ArrowArray slot_{};
};

}  // namespace watersmeet
