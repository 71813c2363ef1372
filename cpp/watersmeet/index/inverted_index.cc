// Inverted index over unweighted sets: posting lists in time order (posting_lists.h), merged per probe.
//
// Unless a merge is asked for by name, the cheapest is chosen per probe (merge_choice.h). Exact by construction: a
// merge of all lists counts shared items; candidates of a merge that left lists out are verified on the sets.

#include <algorithm>
#include <vector>

#include "watersmeet/index/index.h"
#include "watersmeet/index/merge_choice.h"
#include "watersmeet/index/posting_lists.h"
#include "watersmeet/index/row_output.h"
#include "watersmeet/index/weighted_index.h"
#include "watersmeet/merge/merge.h"
#include "watersmeet/predicate/verify.h"

namespace watersmeet {
namespace {

// An item is popular if at least one row in so many holds it, and at least a few rows do.
constexpr std::size_t kPopular = 128;
constexpr std::size_t kFewestPopular = 4;
// A bitmap is read in blocks, however few rows are asked for.
constexpr std::size_t kFewestRows = 128;
constexpr std::size_t kAhead = 8;  // candidates between the prefetch of a set and its use

class InvertedIndex final : public Index {
 public:
  InvertedIndex(const Window& window, const Term& term, MergeKind merge)
      : window_(window), term_(term), kind_(merge), lists_(window, false) {
    scratch_.emplace_back();
  }

  void append(Seq first, Seq last) override { lists_.append(first, last); }
  void expire_before(Seq row) override { lists_.expire_before(row); }
  void truncate(Seq row) override { lists_.truncate(row); }

  // Finding a list drops its dead entries, and reading a bitmap may make it: both are done here.
  void prepare(const ProbeRun& run, std::size_t lanes) override {
    while (scratch_.size() < lanes) scratch_.emplace_back();
    const auto& own = std::get<SetColumn>(run.own->columns[0]);
    const bool bitmaps = kind_ == MergeKind::kAuto || kind_ == MergeKind::kBitmap;
    for (std::size_t at = 0; at < run.requests; ++at) {
      if (!run.own->joinable[run.row(at)]) continue;
      for (const Code item : own.set(run.row(at))) {
        PostingLists::List* list = lists_.find(item);
        if (list != nullptr && bitmaps && is_popular(list->postings.size(), window_.size())) {
          (void)lists_.bitmap(*list);
        }
      }
    }
  }

  std::size_t probe(const ProbeRun& run, Pairs& pairs, Work& work) override {
    const auto& own = std::get<SetColumn>(run.own->columns[0]);
    Scratch& scratch = scratch_[run.lane];
    return for_each_request(run, window_, pairs, work, [&](Seq row, LiveRange range) {
      probe_row({own, row, own.set(row), run.own_is_left, run.is_metered}, range, scratch, pairs, work);
    });
  }

  void trim() override { lists_.trim(); }
  [[nodiscard]] std::size_t bytes() const override {
    std::size_t total = lists_.bytes();
    for (const Scratch& scratch : scratch_) total += scratch.bytes();
    return total;
  }

 private:
  struct Own {
    const SetColumn& column;
    Seq row;
    std::span<const Code> items;
    bool is_left;
    bool is_metered;
  };
  struct Wanted {
    PostingLists::List* list;
    std::size_t size;  // in the window, or in the range of a metered probe
  };
  // Memory of one lane's probe.
  struct Scratch {
    std::unique_ptr<Merge> heap = make_heap_merge();
    std::unique_ptr<Merge> count = make_count_merge();
    std::unique_ptr<Merge> bitmap = make_bitmap_merge();
    std::vector<Wanted> wanted;
    std::vector<PostingView> views;
    std::vector<double> estimates;
    Candidates found;

    [[nodiscard]] std::size_t bytes() const {
      return heap->bytes() + count->bytes() + bitmap->bytes() + wanted.capacity() * sizeof(Wanted) +
             views.capacity() * sizeof(PostingView) + estimates.capacity() * sizeof(double) +
             (found.offsets.capacity() + found.counts.capacity()) * sizeof(std::uint32_t);
    }
  };

  [[nodiscard]] const SetColumn& sets() const { return std::get<SetColumn>(window_.columns[0]); }

  [[nodiscard]] bool accepts(const Own& own, std::size_t shared, std::size_t other_size) const {
    return own.is_left ? accepts_overlap(term_, shared, own.items.size(), other_size)
                       : accepts_overlap(term_, shared, other_size, own.items.size());
  }

  void probe_row(const Own& own, LiveRange range, Scratch& scratch, Pairs& pairs, Work& work) {
    work.lookups += own.items.size();
    // Rows that share nothing match too, all of them or those with empty sets.
    if (accepts(own, 0, 1)) return add_all_joinable(pairs, own.row, window_, range.lo, range.hi);
    const std::size_t before = pairs.size();
    const std::size_t least = std::max<std::size_t>(least_overlap(term_, own.items.size(), own.is_left), 1);
    if (least <= own.items.size() && find_lists(own, range, scratch.wanted) >= least) {
      merge_lists(own, range, least, scratch, pairs, work);
    }
    if (accepts(own, 0, 0)) add_empty(own.row, range, before, pairs, work);
  }

  // Finds the lists of the items that are not empty, longest first, and returns how many there are.
  std::size_t find_lists(const Own& own, LiveRange range, std::vector<Wanted>& wanted) {
    wanted.clear();
    for (const Code item : own.items) {
      PostingLists::List* list = lists_.find(item);
      if (list == nullptr) continue;
      const std::size_t size = own.is_metered ? lists_.cut(*list, range).size : list->postings.size();
      if (size > 0) wanted.push_back({list, size});
    }
    std::stable_sort(wanted.begin(), wanted.end(),
                     [](const Wanted& a, const Wanted& b) { return a.size > b.size; });
    return wanted.size();
  }

  void merge_lists(const Own& own, LiveRange range, std::size_t least, Scratch& scratch, Pairs& pairs,
                   Work& work) {
    const std::size_t rows =
        own.is_metered ? range.hi - range.lo : window_.size();  // that hold the lists' entries
    const MergeChoice choice = choose(range, rows, least, scratch);
    const std::vector<Wanted>& wanted = scratch.wanted;
    std::vector<PostingView>& views = scratch.views;
    const Candidates& found = scratch.found;
    views.clear();
    for (std::size_t at = choice.skipped; at < wanted.size(); ++at) {
      if (choice.bitmaps && is_popular(wanted[at].size, rows)) {
        views.push_back({nullptr, 0, lists_.bitmap(*wanted[at].list)});
      } else {
        const PostingLists::Piece piece = lists_.cut(*wanted[at].list, range);
        if (piece.size > 0) views.push_back({piece.positions, piece.size, nullptr});
      }
    }
    const std::size_t enough = least - choice.skipped;
    if (views.size() < enough) return;
    const bool counts_decide = choice.skipped == 0 && term_.kind != TermKind::kOverlap;
    const MergeInput input{.lists = views,
                           .first_row = range.lo,
                           .rows = static_cast<std::uint32_t>(range.hi - range.lo),
                           .least = enough,
                           .exact = counts_decide,
                           .ring_rows = lists_.ring_rows()};
    Merge& merge = choice.bitmaps              ? *scratch.bitmap
                   : kind_ == MergeKind::kHeap ? *scratch.heap
                                               : *scratch.count;
    work.postings += merge.run(input, scratch.found);
    work.comparisons += found.offsets.size();
    if (choice.skipped > 0) {
      add_verified(own, range, found, pairs);
    } else if (counts_decide) {
      add_accepted(own, range, found, pairs);
    } else {
      add_partners(pairs, own.row, range.lo, found.offsets);
    }
  }

  [[nodiscard]] static bool is_popular(std::size_t postings, std::size_t rows) {
    return rows >= kFewestRows && postings >= std::max(rows / kPopular, kFewestPopular);
  }

  // How to merge the lists, whose entries are of so many `rows`.
  MergeChoice choose(LiveRange range, std::size_t rows, std::size_t least, Scratch& scratch) const {
    std::vector<double>& estimates = scratch.estimates;
    const std::vector<Wanted>& wanted_lists = scratch.wanted;
    if (kind_ == MergeKind::kHeap || kind_ == MergeKind::kCount) return {};
    const bool fits = fits_bit_slices(wanted_lists.size(), least);
    if (kind_ == MergeKind::kBitmap) return {.bitmaps = fits};
    const double share = static_cast<double>(range.hi - range.lo) / static_cast<double>(rows);
    estimates.clear();
    std::size_t popular = 0;
    for (const Wanted& wanted : wanted_lists) {
      estimates.push_back(static_cast<double>(wanted.size) * share);
      popular += is_popular(wanted.size, rows) ? 1 : 0;
    }
    return choose_merge({.postings = estimates,
                         .rows = static_cast<double>(range.hi - range.lo),
                         .least = least,
                         .popular = popular,
                         .bitmaps_allowed = fits,
                         .may_skip = true});
  }

  void add_accepted(const Own& own, LiveRange range, const Candidates& found, Pairs& pairs) const {
    for (std::size_t at = 0; at < found.offsets.size(); ++at) {
      const Seq other = range.lo + found.offsets[at];
      if (accepts(own, found.counts[at], sets().set_size(other))) pairs.add(own.row, other);
    }
  }

  void add_verified(const Own& own, LiveRange range, const Candidates& found, Pairs& pairs) const {
    const std::vector<std::uint32_t>& offsets = found.offsets;
    for (std::size_t at = 0; at < offsets.size(); ++at) {
      if (at + 2 * kAhead < offsets.size())
        __builtin_prefetch(sets().starts.at(range.lo + offsets[at + 2 * kAhead]));
      if (at + kAhead < offsets.size()) {
        __builtin_prefetch(sets().items.at(sets().starts[range.lo + offsets[at + kAhead]]));
      }
      const Seq other = range.lo + offsets[at];
      if (satisfies_set(term_, own.column, own.row, sets(), other, own.is_left)) pairs.add(own.row, other);
    }
  }

  // Adds the rows with empty sets, in order among the partners found since `before`.
  void add_empty(Seq own_row, LiveRange range, std::size_t before, Pairs& pairs, Work& work) {
    const auto [rows, count] = lists_.empty_sets(range);
    work.postings += count;
    const auto middle = static_cast<std::ptrdiff_t>(pairs.size());
    for (std::size_t at = 0; at < count; ++at) pairs.add(own_row, rows[at]);
    std::inplace_merge(pairs.other.begin() + static_cast<std::ptrdiff_t>(before),
                       pairs.other.begin() + middle, pairs.other.end());
  }

  const Window& window_;
  const Term term_;
  const MergeKind kind_;
  PostingLists lists_;
  std::vector<Scratch> scratch_;  // one per lane
};

}  // namespace

std::unique_ptr<Index> make_inverted_index(const Window& window, const Term& term, MergeKind merge) {
  if (!term.is_set()) return make_scan_index(window, term);
  if (term.is_weighted()) return make_weighted_index(window, term, merge);
  return std::make_unique<InvertedIndex>(window, term, merge);
}

}  // namespace watersmeet
