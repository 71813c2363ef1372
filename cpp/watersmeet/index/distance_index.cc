// Distances of vectors: every row of the range is compared, in tiles.
//
// A vector may fill half the first-level cache, so a window is far larger than any. A tile of requests goes through the
// other window together, a few rows at a time: those rows are read from memory once per tile, not once per request.
// Partners are kept per request until the tile is through, so their order does not show the tiles.

#include <algorithm>
#include <vector>

#include "watersmeet/index/distance_index.h"
#include "watersmeet/index/row_output.h"
#include "watersmeet/predicate/distance.h"

namespace watersmeet {
namespace {

constexpr std::size_t kTileBytes = std::size_t{256}
                                   << 10;  // of each side's vectors: both fit the second-level cache
constexpr std::size_t kMostRequests = 64;

class DistanceIndex final : public Index {
 public:
  DistanceIndex(const Window& window, const Term& term)
      : window_(window), is_near_(term), scratch_(1, Tile(kMostRequests)) {}

  void append(Seq, Seq) override {}
  void expire_before(Seq) override {}
  void truncate(Seq) override {}

  void prepare(const ProbeRun&, std::size_t lanes) override {
    if (scratch_.size() < lanes) scratch_.resize(lanes, Tile(kMostRequests));
  }

  std::size_t probe(const ProbeRun& run, Pairs& pairs, Work& work) override {
    Tile& found = scratch_[run.lane];
    const std::size_t pairs_before = pairs.size();
    const std::uint64_t work_before = work.units();
    const std::size_t row_bytes = std::max<std::size_t>(1, vectors(window_).row_bytes);
    const std::size_t tile = std::clamp<std::size_t>(kTileBytes / row_bytes, 1, kMostRequests);
    for (std::size_t first = 0; first < run.requests; first += tile) {
      const std::size_t count = std::min(tile, run.requests - first);
      compare_tile(run, first, count, tile, found);
      for (std::size_t at = 0; at < count; ++at) {
        write(run, first + at, found[at], pairs, work);
        if (pairs.size() - pairs_before >= run.max_pairs || work.units() - work_before >= run.max_work) {
          return first + at + 1;
        }
      }
    }
    return run.requests;
  }

  [[nodiscard]] std::size_t bytes() const override {
    std::size_t total = 0;
    for (const Tile& tile : scratch_) {
      for (const Request& request : tile)
        total += sizeof(request) + request.partners.capacity() * sizeof(Seq);
    }
    return total;
  }

 private:
  struct Request {
    LiveRange range;
    std::vector<Seq> partners;
  };
  using Tile = std::vector<Request>;

  [[nodiscard]] static const VectorColumn& vectors(const Window& window) {
    return std::get<VectorColumn>(window.columns[0]);
  }

  void compare_tile(const ProbeRun& run, std::size_t first, std::size_t count, std::size_t step,
                    Tile& found) const {
    Seq lowest = window_.end();
    Seq highest = 0;
    for (std::size_t at = 0; at < count; ++at) {
      Request& request = found[at];
      request.partners.clear();
      request.range = live_range(run, first + at, window_);
      if (!run.own->joinable[run.row(first + at)]) request.range.hi = request.range.lo;
      if (request.range.empty()) continue;
      lowest = std::min(lowest, request.range.lo);
      highest = std::max(highest, request.range.hi);
    }
    for (Seq from = lowest; from < highest; from += step) {
      for (std::size_t at = 0; at < count; ++at) {
        compare(*run.own, run.row(first + at), from, std::min<Seq>(from + step, highest), found[at]);
      }
    }
  }

  void compare(const Window& own, Seq own_row, Seq from, Seq to, Request& request) const {
    for (Seq other = std::max(from, request.range.lo); other < std::min(to, request.range.hi); ++other) {
      if (window_.joinable[other] && is_near_(vectors(own), own_row, vectors(window_), other)) {
        request.partners.push_back(other);
      }
    }
  }

  static void write(const ProbeRun& run, std::size_t at, const Request& request, Pairs& pairs, Work& work) {
    ++work.probes;
    if (!request.range.empty()) work.comparisons += request.range.hi - request.range.lo;
    for (const Seq other : request.partners) pairs.add(run.row(at), other);
    if (run.found != nullptr) run.found[at] = static_cast<std::uint32_t>(request.partners.size());
  }

  const Window& window_;
  const DistanceTest is_near_;
  std::vector<Tile> scratch_;  // per lane, one per request of a tile
};

}  // namespace

std::unique_ptr<Index> make_distance_index(const Window& window, const Term& term) {
  return std::make_unique<DistanceIndex>(window, term);
}

}  // namespace watersmeet
