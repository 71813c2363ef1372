// One result of a join: the rows it is made of and its timestamp. Results are ordered by (timestamp, rows by
// stream).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "watersmeet/base/types.h"
#include "watersmeet/base/uninitialized.h"

namespace watersmeet {

// The place of a row in everything that was pushed to its stream, from 0.
using RowId = std::uint64_t;

// The missing side of an unmatched row; sorts after every row, and is -1 as a signed number.
inline constexpr RowId kNoRow = std::numeric_limits<RowId>::max();

// A result of two streams.
struct Result {
  static constexpr std::size_t kStreams = 2;

  Timestamp ts = 0;  // the largest timestamp of its rows
  RowId left = kNoRow;
  RowId right = kNoRow;

  [[nodiscard]] RowId row(std::size_t stream) const { return stream == 0 ? left : right; }

  // Without a branch: which of two runs gives the next result of a merge is anybody's guess.
  friend bool operator<(const Result& a, const Result& b) {
    const int by_rows = int{a.left < b.left} | (int{a.left == b.left} & int{a.right < b.right});
    return (int{a.ts < b.ts} | (int{a.ts == b.ts} & by_rows)) != 0;
  }
};

// Results on their way out, as parallel columns.
struct ResultRows {
  UninitializedVector<RowId> left;
  UninitializedVector<RowId> right;

  [[nodiscard]] UninitializedVector<RowId>& column(std::size_t stream) { return stream == 0 ? left : right; }
};

// The same for any number of streams.
template <std::size_t Streams>
struct Combination {
  static constexpr std::size_t kStreams = Streams;

  Timestamp ts = 0;
  std::array<RowId, Streams> rows = {};

  [[nodiscard]] RowId row(std::size_t stream) const { return rows[stream]; }

  friend bool operator<(const Combination& a, const Combination& b) {
    return a.ts != b.ts ? a.ts < b.ts : a.rows < b.rows;
  }
};

template <std::size_t Streams>
struct CombinationRows {
  std::array<UninitializedVector<RowId>, Streams> columns;

  [[nodiscard]] UninitializedVector<RowId>& column(std::size_t stream) { return columns[stream]; }
};

// The columns into which results of a kind are released.
template <class AnyResult>
struct ColumnsOf {
  using Type = CombinationRows<AnyResult::kStreams>;
};
template <>
struct ColumnsOf<Result> {
  using Type = ResultRows;
};

}  // namespace watersmeet
