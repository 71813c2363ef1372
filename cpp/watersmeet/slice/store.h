// The rows of all streams of a join on slices, held once, whichever slice they belong to.
//
// A slice is a range of row numbers; rows stay where they are when they move from slice to slice. Terms join
// pairs of streams, so each stream has a column for every term it takes part in, and an index over it: a
// slice probes the index in its own range of rows, so that slices look keys up and compare vectors in tiles
// as other joins do.
// Invariants
//   (1) All columns and indexes of a stream hold the rows of its window.
//   (2) The reference that an interner counts for a row is given back once, when the row is dropped or taken
//   back.
// Threads    one writer while no slice works; any number of readers in between, each on a lane of its own,
//            after prepare().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "watersmeet/index/index.h"
#include "watersmeet/predicate/distance.h"
#include "watersmeet/slice/config.h"
#include "watersmeet/tuple/arrow_view.h"
#include "watersmeet/tuple/ingest.h"
#include "watersmeet/window/window.h"

namespace watersmeet {

class SliceStore {
 public:
  // A term as seen by one of its streams.
  struct TermLink {
    std::size_t term = 0;
    bool own_is_left = true;
    const Window* own = nullptr;    // its column 0 is the term's
    const Window* other = nullptr;  // the same of the other stream
    Index* index = nullptr;         // over `other`
  };

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

  // Makes ready for probes on `lanes` lanes: of set columns, by rows `probing` of each stream.
  void prepare(const std::vector<std::vector<Seq>>& probing, std::size_t lanes);

  // The native terms between two streams.
  [[nodiscard]] const std::vector<TermLink>& links(std::size_t own, std::size_t other) const {
    return links_[own * config_->streams.size() + other];
  }
  [[nodiscard]] const Term& term(const TermLink& link) const { return config_->terms[link.term].term; }
  // Whether two rows, which must be joinable, satisfy one term.
  [[nodiscard]] bool holds(const TermLink& link, Seq own_row, Seq other_row) const;

  [[nodiscard]] std::size_t bytes() const;

 private:
  // What a term keeps of one of its streams: a window of one column, and its index.
  struct TermSide {
    std::size_t term = 0;
    bool left = true;
    Window window;
    std::unique_ptr<Index> index;
  };

  [[nodiscard]] TermSide& add_side(std::size_t stream, std::size_t term, bool left);
  void append_column(TermSide& side, const ArrowView* views, std::uint8_t* joinable);
  void release(const TermSide& side, Seq first, Seq last);

  const SliceConfig* config_;
  std::vector<Window> windows_;                                // without columns
  std::vector<TermCoding> codings_;                            // per term
  std::vector<std::optional<DistanceTest>> distances_;         // per term, for those that are distances
  std::vector<std::vector<std::unique_ptr<TermSide>>> sides_;  // per stream
  std::vector<std::vector<TermLink>> links_;                   // per ordered pair of streams
};

}  // namespace watersmeet
