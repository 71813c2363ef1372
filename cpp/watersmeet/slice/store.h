// The rows of all streams of a join on slices, held once, whichever slice they belong to.
//
// A slice is a range of row numbers; rows stay where they are when they move from slice to slice. Terms join
// pairs of streams, so each stream has a column for every term it takes part in.
// Invariants
//   (1) All columns of a stream hold the rows of its window.
//   (2) The reference that an interner counts for a row is given back once, when the row is dropped or taken
//   back.
// Threads    one writer while no slice works; any number of readers in between.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "watersmeet/predicate/distance.h"
#include "watersmeet/slice/config.h"
#include "watersmeet/tuple/arrow_view.h"
#include "watersmeet/tuple/ingest.h"
#include "watersmeet/window/window.h"

namespace watersmeet {

class SliceStore {
 public:
  explicit SliceStore(const SliceConfig& config);

  [[nodiscard]] const Window& window(std::size_t stream) const { return windows_[stream]; }
  [[nodiscard]] Timestamp time(std::size_t stream, Seq row) const { return windows_[stream].timestamps[row]; }
  [[nodiscard]] bool joinable(std::size_t stream, Seq row) const {
    return windows_[stream].joinable[row] != 0;
  }

  // Appends a batch: the time column, then those of the stream's terms. Throws OrderError or SchemaError and
  // leaves everything as it was. Rows below `floor` are out of order.
  void append(std::size_t stream, const ArrowSchema& schema, const ArrowArray& array, Timestamp floor);
  void take_back(std::size_t stream, Seq row);
  void drop_before(std::size_t stream, Seq row);
  // The next row of the empty window gets this number.
  void start_at(std::size_t stream, Seq row);

  // Whether two rows, which must be joinable, satisfy all native terms between their streams.
  [[nodiscard]] bool matches(std::size_t own, Seq own_row, std::size_t other, Seq other_row) const;
  // Whether there is any native term between two streams.
  [[nodiscard]] bool has_terms(std::size_t own, std::size_t other) const {
    return !links(own, other).empty();
  }

  [[nodiscard]] std::size_t bytes() const;

 private:
  // A term as seen by one of its streams: which column of its own, which of the other.
  struct TermLink {
    std::size_t term = 0;
    std::size_t own_column = 0;
    std::size_t other_column = 0;
    bool own_is_left = true;
  };
  struct StreamColumn {
    std::size_t term = 0;
    bool left = true;
  };

  [[nodiscard]] const std::vector<TermLink>& links(std::size_t own, std::size_t other) const {
    return links_[own * config_->streams.size() + other];
  }
  [[nodiscard]] std::size_t add_column(std::size_t stream, std::size_t term, bool left);
  void append_columns(std::size_t stream, const std::vector<ArrowView>& views, std::uint8_t* joinable);
  void release(std::size_t stream, Seq first, Seq last);

  const SliceConfig* config_;
  std::vector<Window> windows_;
  std::vector<TermCoding> codings_;                     // per term
  std::vector<std::optional<DistanceTest>> distances_;  // per term, for those that are distances
  std::vector<std::vector<StreamColumn>> columns_;      // per stream, what its columns are
  std::vector<std::vector<TermLink>> links_;            // per ordered pair of streams
};

}  // namespace watersmeet
