// The paper's baseline: inverted lists sorted by row identifier instead of time ([Gedik] V-A.2, Fig. 14).
//
// Identifiers are unrelated to time, so a probe merges its lists from end to end by heap and only then drops the
// rows outside its range: a narrow range costs as much as the whole window. Insertion and expiry search the list.
// An identifier is the row's position times an odd number, modulo 2^32: a bijection, so that it can be undone.

#include <algorithm>
#include <vector>

#include "watersmeet/index/index.h"
#include "watersmeet/index/row_output.h"
#include "watersmeet/merge/merge.h"
#include "watersmeet/predicate/verify.h"

namespace watersmeet {
namespace {

constexpr std::uint32_t kScatter = 0x9E3779B1U;

constexpr std::uint32_t inverse_of(std::uint32_t odd) {
  std::uint32_t inverse = odd;  // right in the lowest 3 bits; each step doubles that
  for (int step = 0; step < 4; ++step) inverse *= 2 - odd * inverse;
  return inverse;
}
constexpr std::uint32_t kGather = inverse_of(kScatter);
static_assert(kScatter * kGather == 1);

constexpr std::uint32_t identifier(Seq row) { return static_cast<std::uint32_t>(row) * kScatter; }

class InvertedByIdIndex final : public Index {
 public:
  InvertedByIdIndex(const Window& window, const Term& term) : window_(window), term_(term) {
    scratch_.emplace_back();
  }

  void append(Seq first, Seq last) override {
    if (begin_ == end_) begin_ = first;
    end_ = last;
    catch_up();
    for (Seq row = first; row < last; ++row) {
      if (!window_.joinable[row]) continue;
      for_each_list(row, [row](std::vector<Position>& list) {
        list.insert(std::lower_bound(list.begin(), list.end(), identifier(row)), identifier(row));
      });
    }
  }

  void expire_before(Seq row) override {
    catch_up();
    row = std::min(row, end_);
    for (; begin_ < row; ++begin_) forget(begin_);
  }

  void truncate(Seq row) override {
    catch_up();
    row = std::max(row, begin_);
    while (end_ > row) forget(--end_);
  }

  void prepare(const ProbeRun&, std::size_t lanes) override {
    catch_up();
    while (scratch_.size() < lanes) scratch_.emplace_back();
  }

  std::size_t probe(const ProbeRun& run, Pairs& pairs, Work& work) override {
    catch_up();
    Scratch& scratch = scratch_[run.lane];
    return for_each_request(run, window_, pairs, work, [&](Seq row, LiveRange range) {
      probe_row(run, row, range, scratch, pairs, work);
    });
  }

  [[nodiscard]] std::size_t bytes() const override {
    std::size_t total =
        lists_.capacity() * sizeof(decltype(lists_)::value_type) + empty_.capacity() * sizeof(Position);
    for (const Scratch& scratch : scratch_) total += scratch.merge->bytes();
    for (const auto& list : lists_) total += list.capacity() * sizeof(Position);
    return total;
  }

 private:
  // Memory of one lane's probe.
  struct Scratch {
    std::unique_ptr<Merge> merge = make_heap_merge();
    std::vector<PostingView> views;
    Candidates found;
  };

  [[nodiscard]] const SetColumn& sets() const { return std::get<SetColumn>(window_.columns[0]); }

  // The lists a row stands in: one per item, or the list of empty sets.
  template <class Visit>
  void for_each_list(Seq row, Visit visit) {
    const auto items = sets().set(row);
    if (items.empty()) visit(empty_);
    for (const Code item : items) {
      if (item >= lists_.size()) lists_.resize(item + std::size_t{1});
      visit(lists_[item]);
    }
  }

  void forget(Seq row) {
    if (!window_.joinable[row]) return;
    for_each_list(row, [row](std::vector<Position>& list) {
      list.erase(std::lower_bound(list.begin(), list.end(), identifier(row)));
      if (list.size() < list.capacity() / 8) list.shrink_to_fit();
    });
  }

  // Drops rows that the window let go without telling: their items are gone, so every list is read.
  void catch_up() {
    if (begin_ >= window_.begin() || begin_ >= end_) return;
    begin_ = std::min(window_.begin(), end_);
    const auto base = static_cast<Position>(begin_);
    const auto alive = static_cast<Position>(end_ - begin_);
    const auto dead = [=](Position id) { return static_cast<Position>(id * kGather - base) >= alive; };
    std::erase_if(empty_, dead);
    for (auto& list : lists_) std::erase_if(list, dead);
  }

  void probe_row(const ProbeRun& run, Seq row, LiveRange range, Scratch& scratch, Pairs& pairs, Work& work) {
    const Candidates& found = scratch.found;
    const auto& own = std::get<SetColumn>(run.own->columns[0]);
    const auto own_set = own.set(row);
    const auto accepts = [&](std::size_t shared, std::size_t other_size) {
      return run.own_is_left ? accepts_overlap(term_, shared, own_set.size(), other_size)
                             : accepts_overlap(term_, shared, other_size, own_set.size());
    };
    work.lookups += own_set.size();
    if (accepts(0, 1)) return add_all_joinable(pairs, row, window_, range.lo, range.hi);
    const std::size_t before = pairs.size();
    const std::uint64_t read = merge(own_set, least_overlap(term_, own_set.size(), run.own_is_left), scratch);
    work.postings += run.is_metered ? entries_in(range, scratch.views) : read;
    for (std::size_t at = 0; at < found.offsets.size(); ++at) {
      Seq other = 0;
      if (!in_range(found.offsets[at], range, other)) continue;
      ++work.comparisons;
      if (term_.is_weighted() ? satisfies_weighted(term_, own, row, sets(), other)
                              : accepts(found.counts[at], sets().set_size(other))) {
        pairs.add(row, other);
      }
    }
    if (accepts(0, 0)) {
      const std::size_t matched = pairs.size();
      for (const Position id : empty_) {
        Seq other = 0;
        if (in_range(id, range, other)) pairs.add(row, other);
      }
      work.postings += run.is_metered ? pairs.size() - matched : empty_.size();
    }
    std::sort(pairs.other.begin() + static_cast<std::ptrdiff_t>(before), pairs.other.end());
  }

  std::uint64_t merge(std::span<const Code> items, std::size_t least, Scratch& scratch) const {
    scratch.views.clear();
    for (const Code item : items) {
      if (item < lists_.size()) scratch.views.push_back({lists_[item].data(), lists_[item].size(), nullptr});
    }
    return scratch.merge->run(
        {.lists = scratch.views, .least = std::max<std::size_t>(least, 1), .exact = true}, scratch.found);
  }

  // Entries of rows that the probe may meet: what it would read if the window held no others.
  static std::uint64_t entries_in(LiveRange range, std::span<const PostingView> views) {
    std::uint64_t entries = 0;
    for (const PostingView& view : views) {
      entries += static_cast<std::uint64_t>(
          std::count_if(view.positions, view.positions + view.size, [range](Position id) {
            Seq row = 0;
            return in_range(id, range, row);
          }));
    }
    return entries;
  }

  static bool in_range(Position id, LiveRange range, Seq& row) {
    const Position offset = id * kGather - static_cast<Position>(range.lo);
    row = range.lo + offset;
    return row < range.hi;
  }

  const Window& window_;
  const Term term_;
  std::vector<std::vector<Position>> lists_;  // by item; identifiers, ascending
  std::vector<Position> empty_;               // rows with empty sets, the same way
  // Rows in the lists.
  Seq begin_ = 0;
  Seq end_ = 0;
  std::vector<Scratch> scratch_;  // one per lane
};

}  // namespace

std::unique_ptr<Index> make_inverted_by_id_index(const Window& window, const Term& term) {
  // Rows that share nothing match too: there is nothing to look up.
  if (!term.is_set() || (term.is_weighted() && !(term.at_least > 0))) return make_scan_index(window, term);
  return std::make_unique<InvertedByIdIndex>(window, term);
}

}  // namespace watersmeet
