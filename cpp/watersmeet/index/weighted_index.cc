// Inverted index over weighted sets, for dot and cosine with a positive threshold.
//
// Design. Postings carry the item's weight divided by the row's length, in float. A probe walks its lists stretch by
// stretch of kStretch rows, adding products into one float per row, which stay in the first-level cache; a sweep then
// picks the rows whose sum comes near the threshold or passes it, and those are verified in double (verify.h).
// Why nothing is missed. Sums approximate the cosine. The magnitudes of its products add up to at most 1 (Cauchy and
// Schwarz), so n of them, each rounded a few times to 24 bits and added in float, err by less than 2 (n + 8) 2^-24:
// that much below the threshold is near. For dot the threshold of a row is at_least / (own length * its length).
// Rows whose length has no faithful float are kept apart and always verified.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "watersmeet/index/index.h"
#include "watersmeet/index/posting_lists.h"
#include "watersmeet/index/row_output.h"
#include "watersmeet/index/weighted_index.h"
#include "watersmeet/base/clones.h"
#include "watersmeet/merge/merge.h"
#include "watersmeet/predicate/verify.h"

namespace watersmeet {
namespace {

constexpr std::size_t kStretch = 4096;  // rows whose sums are kept at a time
constexpr std::size_t kStride = 64;     // sums looked at together; divides kStretch
constexpr std::size_t kMostItems = std::size_t{1} << 22;  // beyond it float sums are not trusted

// Offsets of the sums that reach the bound; clears the sums. `size` is a multiple of kStride.
WATERSMEET_CLONES std::size_t sweep(float* sums, std::size_t size, float bound, std::uint32_t* found) {
  std::size_t count = 0;
  for (std::size_t from = 0; from < size; from += kStride) {
    int any = 0;
    for (std::size_t at = 0; at < kStride; ++at) any |= sums[from + at] >= bound ? 1 : 0;
    if (any == 0) continue;
    for (std::size_t at = 0; at < kStride; ++at) {
      found[count] = static_cast<std::uint32_t>(from + at);
      count += sums[from + at] >= bound ? 1 : 0;
    }
  }
  std::memset(sums, 0, size * sizeof(float));
  return count;
}

// Turns cosines into dot products, up to the factor that the own length is, as high as they can be.
WATERSMEET_CLONES void scale(float* sums, const float* lengths, std::size_t size, float margin) {
  for (std::size_t at = 0; at < size; ++at) sums[at] = (sums[at] + margin) * lengths[at];
}

class WeightedIndex final : public Index {
 public:
  WeightedIndex(const Window& window, const Term& term, MergeKind merge)
      : window_(window),
        term_(term),
        by_heap_(merge == MergeKind::kHeap),
        lists_(window, true) {
    scratch_.emplace_back(by_heap_);
  }

  void append(Seq first, Seq last) override {
    if (lengths_.end() != first) {
      lengths_.reset(first);
      odd_.reset(0);
    }
    for (Seq row = first; row < last; ++row) note_length(row);
    lists_.append(first, last);
  }

  void expire_before(Seq row) override {
    lengths_.drop_front_to(std::min(row, lengths_.end()));
    while (!odd_.empty() && odd_[odd_.begin()] < row) odd_.drop_front_to(odd_.begin() + 1);
    lists_.expire_before(row);
  }

  void truncate(Seq row) override {
    lengths_.truncate_to(std::max(row, lengths_.begin()));
    while (!odd_.empty() && odd_[odd_.end() - 1] >= row) odd_.truncate_to(odd_.end() - 1);
    lists_.truncate(row);
  }

  // Finding a list drops its dead entries.
  void prepare(const ProbeRun& run, std::size_t lanes) override {
    while (scratch_.size() < lanes) scratch_.emplace_back(by_heap_);
    const auto& own = std::get<SetColumn>(run.own->columns[0]);
    for (std::size_t at = 0; at < run.requests; ++at) {
      if (!run.own->joinable[run.row(at)]) continue;
      for (const Code item : own.set(run.row(at))) (void)lists_.find(item);
    }
  }

  std::size_t probe(const ProbeRun& run, Pairs& pairs, Work& work) override {
    const auto& own = std::get<SetColumn>(run.own->columns[0]);
    Scratch& scratch = scratch_[run.lane];
    return for_each_request(run, window_, pairs, work, [&](Seq row, LiveRange range) {
      work.lookups += own.set_size(row);
      scratch.candidates.clear();
      if (by_heap_) {
        propose_by_heap(own, row, range, scratch, work);
      } else if (has_float_length(own.squares[row]) && own.set_size(row) <= kMostItems) {
        propose_by_sums(own, row, range, scratch, work);
        propose_odd(range, scratch.candidates);
      } else {
        propose_all(own, row, range, scratch.candidates);
      }
      verify(own, row, scratch.candidates, pairs, work);
    });
  }

  [[nodiscard]] std::size_t bytes() const override {
    std::size_t total = lists_.bytes() + lengths_.bytes() + odd_.bytes();
    for (const Scratch& scratch : scratch_) total += scratch.bytes();
    return total;
  }

 private:
  // What is left of a list, and the own weight of its item.
  struct Cursor {
    const Position* next;
    const Position* end;
    const float* weight;  // of the row at `next`
    float own_weight;
  };

  // Memory of one lane's probe.
  struct Scratch {
    explicit Scratch(bool by_heap)
        : heap(by_heap ? make_heap_merge() : nullptr), sums(kStretch, 0.0F), near(kStretch + 1) {}

    std::unique_ptr<Merge> heap;     // null unless asked for
    std::vector<float> sums;         // all 0 between stretches
    std::vector<std::uint32_t> near;
    std::vector<Cursor> cursors;
    std::vector<Seq> candidates;     // ascending
    std::vector<PostingView> views;
    Candidates found;

    [[nodiscard]] std::size_t bytes() const {
      return (heap == nullptr ? 0 : heap->bytes()) + sums.capacity() * sizeof(float) +
             near.capacity() * sizeof(std::uint32_t) + candidates.capacity() * sizeof(Seq) +
             cursors.capacity() * sizeof(Cursor);
    }
  };

  [[nodiscard]] const SetColumn& sets() const { return std::get<SetColumn>(window_.columns[0]); }

  [[nodiscard]] static bool is_zero(const SetColumn& column, Seq row) {
    const auto weights = column.set_weights(row);
    return std::all_of(weights.begin(), weights.end(), [](double weight) { return weight == 0; });
  }

  void note_length(Seq row) {
    const double squares = sets().squares[row];
    const bool faithful = has_float_length(squares);
    lengths_.push_back(faithful ? static_cast<float>(std::sqrt(squares)) : 0.0F);
    if (!faithful && window_.joinable[row] && !is_zero(sets(), row)) odd_.push_back(row);
  }

  // Every joinable row, unless the own row's products are all 0.
  void propose_all(const SetColumn& own, Seq row, LiveRange range, std::vector<Seq>& candidates) const {
    if (is_zero(own, row)) return;
    for (Seq other = range.lo; other < range.hi; ++other) {
      if (window_.joinable[other]) candidates.push_back(other);
    }
  }

  void propose_odd(LiveRange range, std::vector<Seq>& candidates) const {
    if (odd_.empty()) return;
    const auto proposed = static_cast<std::ptrdiff_t>(candidates.size());
    for (std::uint64_t at = odd_.begin(); at < odd_.end(); ++at) {
      if (odd_[at] >= range.lo && odd_[at] < range.hi) candidates.push_back(odd_[at]);
    }
    std::inplace_merge(candidates.begin(), candidates.begin() + proposed, candidates.end());
    candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
  }

  // The paper's merge: every row that shares an item.
  void propose_by_heap(const SetColumn& own, Seq row, LiveRange range, Scratch& scratch, Work& work) {
    scratch.views.clear();
    for (const Code item : own.set(row)) {
      if (const auto* list = lists_.find(item)) {
        const PostingLists::Piece piece = lists_.cut(*list, range);
        scratch.views.push_back({piece.positions, piece.size, nullptr});
      }
    }
    work.postings += scratch.heap->run({.lists = scratch.views,
                                 .first_row = range.lo,
                                 .rows = static_cast<std::uint32_t>(range.hi - range.lo),
                                 .least = 1},
                                scratch.found);
    for (const std::uint32_t offset : scratch.found.offsets) scratch.candidates.push_back(range.lo + offset);
  }

  void propose_by_sums(const SetColumn& own, Seq row, LiveRange range, Scratch& scratch, Work& work) {
    const double length = std::sqrt(own.squares[row]);
    find_cursors(own, row, range, length, scratch.cursors, work);
    if (scratch.cursors.empty()) return;
    const auto margin = static_cast<float>(2 * static_cast<double>(scratch.cursors.size() + 8) * 0x1p-24);
    const bool dot = term_.kind == TermKind::kDot;
    // A little lower, for the rounding of the bound itself and of scale().
    const double threshold = dot ? term_.at_least / length : term_.at_least - static_cast<double>(margin);
    const auto bound = static_cast<float>(threshold - std::abs(threshold) * 1e-6);
    for (Seq first = range.lo; first < range.hi; first += kStretch) {
      const std::size_t rows = std::min<std::size_t>(kStretch, range.hi - first);
      if (!add_products(first, rows, scratch)) continue;
      if (dot) scale(scratch.sums.data(), lengths_.at(first), rows, margin);
      const std::size_t padded = (rows + kStride - 1) / kStride * kStride;
      const std::size_t count = sweep(scratch.sums.data(), padded, bound, scratch.near.data());
      for (std::size_t at = 0; at < count && scratch.near[at] < rows; ++at) {
        scratch.candidates.push_back(first + scratch.near[at]);
      }
    }
  }

  void find_cursors(const SetColumn& own, Seq row, LiveRange range, double length, std::vector<Cursor>& cursors,
                    Work& work) {
    cursors.clear();
    const auto items = own.set(row);
    const auto weights = own.set_weights(row);
    for (std::size_t at = 0; at < items.size(); ++at) {
      const auto* list = lists_.find(items[at]);
      if (list == nullptr) continue;
      const PostingLists::Piece piece = lists_.cut(*list, range);
      work.postings += piece.size;
      if (piece.size == 0) continue;
      const auto own_weight = static_cast<float>(weights[at] / length);
      cursors.push_back({piece.positions, piece.positions + piece.size, piece.weights, own_weight});
    }
  }

  // Adds the products of rows [first, first + rows) to their sums. Returns: whether there were any.
  bool add_products(Seq first, std::size_t rows, Scratch& scratch) const {
    const auto base = static_cast<Position>(first);
    float* sums = scratch.sums.data();
    bool any = false;
    for (Cursor& cursor : scratch.cursors) {
      const Position* next = cursor.next;
      const Position* end = cursor.end;
      const float* weight = cursor.weight;
      const float own_weight = cursor.own_weight;
      for (; next != end; ++next, ++weight) {
        const std::uint32_t offset = *next - base;
        if (offset >= rows) break;
        sums[offset] += own_weight * *weight;
      }
      any |= next != cursor.next;
      cursor.next = next;
      cursor.weight = weight;
    }
    return any;
  }

  void verify(const SetColumn& own, Seq row, const std::vector<Seq>& candidates, Pairs& pairs, Work& work) const {
    work.comparisons += candidates.size();
    for (const Seq other : candidates) {
      if (satisfies_weighted(term_, own, row, sets(), other)) pairs.add(row, other);
    }
  }

  const Window& window_;
  const Term term_;
  const bool by_heap_;
  PostingLists lists_;
  SlidingArray<float> lengths_;  // of each row; 0 where a float cannot tell
  SlidingArray<Seq> odd_;        // those rows, unless all their weights are 0
  std::vector<Scratch> scratch_;  // one per lane
};

}  // namespace

std::unique_ptr<Index> make_weighted_index(const Window& window, const Term& term, MergeKind merge) {
  // Rows that share nothing match too: there is nothing to look up.
  if (!(term.at_least > 0)) return make_scan_index(window, term);
  return std::make_unique<WeightedIndex>(window, term, merge);
}

}  // namespace watersmeet
