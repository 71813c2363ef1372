// ScanCount: one counter per row of the range, raised once per posting.
//
// A row is noted when its counter reaches `least`, which happens once, so nothing has to scan the counters.
// They are zero between runs: afterwards the same postings are walked again to clear them, or the range is
// cleared at once when there are many.

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "watersmeet/merge/merge.h"
#include "watersmeet/merge/sort_offsets.h"

namespace watersmeet {
namespace {

class CountMerge final : public Merge {
 public:
  std::uint64_t run(const MergeInput& input, Candidates& found) override {
    found.clear();
    std::uint64_t postings = 0;
    for (const PostingView& list : input.lists) postings += list.size;
    if (input.lists.size() == 1 && input.least == 1) {
      copy_only_list(input, found);
    } else if (input.lists.size() <= std::numeric_limits<std::uint8_t>::max()) {
      count(input, found, postings, narrow_);
    } else {
      count(input, found, postings, wide_);
    }
    return postings;
  }

  [[nodiscard]] std::size_t bytes() const override {
    return narrow_.capacity() + (wide_.capacity() + noted_.capacity()) * sizeof(std::uint32_t) +
           sorter_.bytes();
  }

 private:
  static void copy_only_list(const MergeInput& input, Candidates& found) {
    const PostingView& list = input.lists[0];
    const auto base = static_cast<Position>(input.first_row);
    found.offsets.resize(list.size);
    found.counts.assign(list.size, 1);
    for (std::size_t at = 0; at < list.size; ++at) found.offsets[at] = list.positions[at] - base;
  }

  template <class Counter>
  void count(const MergeInput& input, Candidates& found, std::uint64_t postings,
             std::vector<Counter>& counters) {
    if (counters.size() < input.rows) counters.resize(input.rows);
    const auto base = static_cast<Position>(input.first_row);
    const auto least = static_cast<std::uint32_t>(std::min<std::size_t>(input.least, UINT32_MAX));
    // Room for every row, and one that is written but not kept.
    const std::size_t room = std::min<std::uint64_t>(input.rows, postings) + 1;
    if (noted_.size() < room) noted_.resize(room);
    std::uint32_t* out = noted_.data();
    Counter* counter = counters.data();
    for (const PostingView& list : input.lists) {
      for (std::size_t at = 0; at < list.size; ++at) {
        const std::uint32_t offset = list.positions[at] - base;
        const auto raised = static_cast<Counter>(counter[offset] + 1);
        counter[offset] = raised;
        *out = offset;
        out += raised == least;
      }
    }
    found.offsets.assign(noted_.data(), out);
    sorter_.sort(found.offsets, input.rows);
    found.counts.resize(found.offsets.size());
    for (std::size_t at = 0; at < found.offsets.size(); ++at) found.counts[at] = counter[found.offsets[at]];
    clear_counters(input, postings, counter);
  }

  template <class Counter>
  static void clear_counters(const MergeInput& input, std::uint64_t postings, Counter* counter) {
    if (postings * 16 > input.rows * sizeof(Counter)) {
      std::memset(counter, 0, input.rows * sizeof(Counter));
      return;
    }
    const auto base = static_cast<Position>(input.first_row);
    for (const PostingView& list : input.lists) {
      for (std::size_t at = 0; at < list.size; ++at) counter[list.positions[at] - base] = 0;
    }
  }

  std::vector<std::uint8_t> narrow_;  // all zero between runs
  std::vector<std::uint32_t> wide_;   // all zero between runs
  std::vector<std::uint32_t> noted_;  // rows that reached `least`, in the order they did
  OffsetSorter sorter_;
};

}  // namespace

std::unique_ptr<Merge> make_count_merge() { return std::make_unique<CountMerge>(); }

}  // namespace watersmeet
