// A hold buffer for joins of several streams, whose number is known only when the join is made.
//
// The joins give their results as columns of row numbers with a column of timestamps, and take them back as
// columns in order. Row numbers are the join's own; what they stand for is not known here.
// Cost       as HoldBuffer; first_row() is amortised O(1) per result.
// Threads    one caller at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "watersmeet/order/result.h"
#include "watersmeet/snapshot/bytes.h"

namespace watersmeet {

using RowColumns = std::vector<UninitializedVector<RowId>>;

class ResultHold {
 public:
  virtual ~ResultHold() = default;

  // Takes results in any order: their timestamps, and one column of rows per stream, all of one length.
  virtual void add(std::span<const Timestamp> times, const std::vector<std::span<const RowId>>& rows) = 0;
  // The results with a timestamp below `bound`, in order, one column per stream.
  [[nodiscard]] virtual RowColumns release_before(Timestamp bound) = 0;
  [[nodiscard]] virtual RowColumns release_all() = 0;

  [[nodiscard]] virtual std::size_t streams() const = 0;
  [[nodiscard]] virtual std::size_t size() const = 0;
  [[nodiscard]] virtual std::size_t bytes() const = 0;
  // No result held has a smaller row of the stream; kNoRow if none is held. It may be too small, but grows as
  // results leave.
  [[nodiscard]] virtual RowId first_row(std::size_t stream) = 0;
  // Whether a result of these rows, one per stream, is held. O(size).
  [[nodiscard]] virtual bool holds(std::span<const RowId> rows) const = 0;

  virtual void save(ByteWriter& writer) const = 0;
  virtual void load(ByteReader& reader) = 0;
};

// Throws ConfigError for fewer than 2 or more than kMostCombined streams.
[[nodiscard]] std::unique_ptr<ResultHold> make_result_hold(std::size_t streams);

}  // namespace watersmeet
