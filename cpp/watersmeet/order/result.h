// One result of a join: the rows it is made of and its timestamp.
#pragma once

#include <cstdint>
#include <limits>
#include <tuple>

#include "watersmeet/base/types.h"
#include "watersmeet/base/uninitialized.h"

namespace watersmeet {

// The place of a row in everything that was pushed to its stream, from 0.
using RowId = std::uint64_t;

// The missing side of an unmatched row; sorts after every row, and is -1 as a signed number.
inline constexpr RowId kNoRow = std::numeric_limits<RowId>::max();

struct Result {
  Timestamp ts = 0;  // the largest timestamp of its rows
  RowId left = kNoRow;
  RowId right = kNoRow;

  friend bool operator<(const Result& a, const Result& b) {
    if (a.ts != b.ts) return a.ts < b.ts;
    return std::tie(a.left, a.right) < std::tie(b.left, b.right);
  }
};

// Results on their way out, as parallel columns.
struct ResultRows {
  UninitializedVector<RowId> left;
  UninitializedVector<RowId> right;
};

}  // namespace watersmeet
