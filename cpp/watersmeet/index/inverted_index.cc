// Inverted index: per item, the rows that hold it, in time order ([Gedik] III-C, Fig. 4).

#include <algorithm>
#include <vector>

#include "watersmeet/base/sliding_array.h"
#include "watersmeet/index/index.h"
#include "watersmeet/index/row_output.h"
#include "watersmeet/merge/merge.h"
#include "watersmeet/predicate/verify.h"

namespace watersmeet {
namespace {

class InvertedIndex final : public Index {
 public:
  InvertedIndex(const Window& window, const Term& term, MergeKind merge)
      : window_(window),
        term_(term),
        merge_(merge == MergeKind::kHeap ? make_heap_merge() : make_count_merge()) {}

  void append(Seq first, Seq last) override {
    for (Seq row = first; row < last; ++row) {
      if (!window_.joinable[row]) continue;
      const auto items = sets().set(row);
      if (items.empty()) empty_.push_back(row);
      for (const Code item : items) {
        if (item >= lists_.size()) lists_.resize(item + std::size_t{1});
        lists_[item].push_back(row);
      }
    }
  }

  void expire_before(Seq row) override {
    drop_before(empty_, row);
    for (auto& list : lists_) drop_before(list, row);
  }

  void truncate(Seq row) override {
    take_back(empty_, row);
    for (auto& list : lists_) take_back(list, row);
  }

  std::size_t probe(const ProbeRun& run, Pairs& pairs, Work& work) override {
    return for_each_request(run, window_, pairs, work, [&](Seq row, LiveRange range) {
      const auto& own = std::get<SetColumn>(run.own->columns[0]);
      if (term_.is_weighted()) {
        probe_weighted(own, row, range, pairs, work);
      } else {
        probe_sets(own.set(row), row, range, run.own_is_left, pairs, work);
      }
    });
  }

  [[nodiscard]] std::size_t bytes() const override {
    std::size_t total = merge_->bytes() + empty_.bytes();
    for (const auto& list : lists_) total += list.bytes() + sizeof(list);
    return total;
  }

 private:
  using List = SlidingArray<Seq>;

  [[nodiscard]] const SetColumn& sets() const { return std::get<SetColumn>(window_.columns[0]); }

  static std::uint64_t first_at(const List& list, Seq row) {
    const Seq* begin = list.at(list.begin());
    return list.begin() + static_cast<std::uint64_t>(std::lower_bound(begin, begin + list.size(), row) - begin);
  }
  static void drop_before(List& list, Seq row) {
    if (!list.empty()) list.drop_front_to(first_at(list, row));
  }
  static void take_back(List& list, Seq row) {
    if (!list.empty()) list.truncate_to(first_at(list, row));
  }

  std::uint64_t merge(std::span<const Code> items, LiveRange range, std::size_t least) {
    views_.clear();
    positions_.clear();
    std::size_t total = 0;
    for (const Code item : items) {
      if (item >= lists_.size() || lists_[item].empty()) continue;
      const List& list = lists_[item];
      const std::uint64_t from = first_at(list, range.lo);
      const std::uint64_t to = first_at(list, range.hi);
      for (std::uint64_t at = from; at < to; ++at) positions_.push_back(static_cast<Position>(list[at]));
      views_.push_back({nullptr, static_cast<std::size_t>(to - from), nullptr});
      total += views_.back().size;
    }
    std::size_t at = 0;
    for (PostingView& view : views_) {
      view.positions = positions_.data() + at;
      at += view.size;
    }
    found_.clear();
    if (total == 0) return 0;
    const MergeInput input{.lists = views_,
                           .first_row = range.lo,
                           .rows = static_cast<std::uint32_t>(range.hi - range.lo),
                           .least = std::max<std::size_t>(least, 1),
                           .exact = true};
    return merge_->run(input, found_);
  }

  void probe_sets(std::span<const Code> own, Seq row, LiveRange range, bool own_is_left, Pairs& pairs, Work& work) {
    const auto accepts = [&](std::size_t shared, std::size_t other_size) {
      return own_is_left ? accepts_overlap(term_, shared, own.size(), other_size)
                         : accepts_overlap(term_, shared, other_size, own.size());
    };
    work.lookups += own.size();
    // Nothing shared, and still a match: all rows (own or no item asked for), or those with empty sets.
    if (accepts(0, 1)) return add_all_joinable(pairs, row, window_, range.lo, range.hi);
    const std::size_t before = pairs.size();
    work.postings += merge(own, range, least_overlap(term_, own.size(), own_is_left));
    work.comparisons += found_.offsets.size();
    for (std::size_t at = 0; at < found_.offsets.size(); ++at) {
      const Seq other = range.lo + found_.offsets[at];
      if (accepts(found_.counts[at], sets().set_size(other))) pairs.add(row, other);
    }
    if (accepts(0, 0)) {
      const std::size_t middle = pairs.size();
      for (std::uint64_t at = empty_.begin(); at < empty_.end(); ++at) {
        if (empty_[at] >= range.lo && empty_[at] < range.hi) pairs.add(row, empty_[at]);
      }
      std::inplace_merge(pairs.other.begin() + static_cast<std::ptrdiff_t>(before),
                         pairs.other.begin() + static_cast<std::ptrdiff_t>(middle), pairs.other.end());
    }
  }

  void probe_weighted(const SetColumn& own, Seq row, LiveRange range, Pairs& pairs, Work& work) {
    work.lookups += own.set_size(row);
    work.postings += merge(own.set(row), range, 1);
    work.comparisons += found_.offsets.size();
    for (const std::uint32_t offset : found_.offsets) {
      const Seq other = range.lo + offset;
      if (satisfies_weighted(term_, own, row, sets(), other)) pairs.add(row, other);
    }
  }

  const Window& window_;
  const Term term_;
  std::unique_ptr<Merge> merge_;
  std::vector<List> lists_;
  List empty_;
  std::vector<PostingView> views_;
  std::vector<Position> positions_;
  Candidates found_;
};

}  // namespace

std::unique_ptr<Index> make_inverted_index(const Window& window, const Term& term, MergeKind merge) {
  // Rows that share nothing match too: there is nothing to look up.
  if (term.is_weighted() && !(term.at_least > 0)) return make_scan_index(window, term);
  return std::make_unique<InvertedIndex>(window, term, merge);
}

}  // namespace watersmeet
