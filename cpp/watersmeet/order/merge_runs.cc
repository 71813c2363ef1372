#include "watersmeet/order/merge_runs.h"

#include <algorithm>
#include <array>

namespace watersmeet {
namespace {

// Scratch above this many results is given back after the merge.
constexpr std::size_t kKeptScratch = std::size_t{1} << 18;

// Where the columns are written next.
template <class AnyResult>
struct Cursor {
  std::array<RowId*, AnyResult::kStreams> at;
  void put(const AnyResult& result) {
    for (std::size_t stream = 0; stream < AnyResult::kStreams; ++stream) *at[stream]++ = result.row(stream);
  }
};

template <class AnyResult>
void merge_pair(ResultSpan<AnyResult> a, ResultSpan<AnyResult> b, Cursor<AnyResult> out) {
  while (a.begin != a.end && b.begin != b.end) {
    const bool second = *b.begin < *a.begin;
    out.put(*(second ? b.begin : a.begin));
    b.begin += second ? 1 : 0;
    a.begin += second ? 0 : 1;
  }
  while (a.begin != a.end) out.put(*a.begin++);
  while (b.begin != b.end) out.put(*b.begin++);
}

}  // namespace

template <class AnyResult>
void sort_results(std::vector<AnyResult>& results) {
  if (std::is_sorted(results.begin(), results.end())) return;
  // Groups of one timestamp are sorted for themselves, until one timestamp turns out to be out of order.
  for (std::size_t first = 0; first < results.size();) {
    bool sorted = true;
    std::size_t last = first + 1;
    for (; last < results.size() && results[last].ts == results[first].ts; ++last) {
      sorted = sorted && !(results[last] < results[last - 1]);
    }
    if (last < results.size() && results[last].ts < results[first].ts) {
      std::sort(results.begin(), results.end());
      return;
    }
    if (!sorted) {
      std::sort(results.begin() + static_cast<std::ptrdiff_t>(first),
                results.begin() + static_cast<std::ptrdiff_t>(last));
    }
    first = last;
  }
}

template <class AnyResult>
void RunMerger<AnyResult>::merge(std::vector<ResultSpan<AnyResult>>& spans,
                                 typename ColumnsOf<AnyResult>::Type& out) {
  std::size_t total = 0;
  for (const auto& span : spans) total += span.size();
  // The largest comes last: with an odd number it waits, unmoved, for the last round.
  std::sort(spans.begin(), spans.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
  bool last_is_in_scratch = false;
  for (std::size_t round = 0; spans.size() > 2; ++round) {
    const bool odd = spans.size() % 2 == 1;
    const bool waits = odd && !last_is_in_scratch;
    const ResultSpan<AnyResult> last = spans.back();
    std::vector<AnyResult>& target = scratch_[round % 2];
    target.resize(total - (waits ? last.size() : 0));
    AnyResult* at = target.data();
    std::size_t merged = 0;
    for (std::size_t pair = 0; pair < spans.size() - (odd ? 1 : 0); pair += 2) {
      const auto& a = spans[pair];
      const auto& b = spans[pair + 1];
      AnyResult* end = std::merge(a.begin, a.end, b.begin, b.end, at);
      spans[merged++] = {at, end};
      at = end;
    }
    spans.resize(merged);
    if (waits) spans.push_back(last);
    if (odd && !waits) spans.push_back({at, std::copy(last.begin, last.end, at)});
    last_is_in_scratch = !waits;
  }
  Cursor<AnyResult> cursor;
  for (std::size_t stream = 0; stream < AnyResult::kStreams; ++stream) {
    auto& column = out.column(stream);
    const std::size_t before = column.size();
    column.resize(before + total);
    cursor.at[stream] = column.data() + before;
  }
  using Span = ResultSpan<AnyResult>;
  merge_pair(spans.empty() ? Span{} : spans.front(), spans.size() < 2 ? Span{} : spans.back(), cursor);
  for (std::vector<AnyResult>& scratch : scratch_) {
    if (scratch.capacity() > kKeptScratch) scratch = std::vector<AnyResult>();
  }
}

template void sort_results(std::vector<Result>&);
template void sort_results(std::vector<Combination<2>>&);
template void sort_results(std::vector<Combination<3>>&);
template void sort_results(std::vector<Combination<4>>&);
template void sort_results(std::vector<Combination<5>>&);
template void sort_results(std::vector<Combination<6>>&);
template void sort_results(std::vector<Combination<7>>&);
template void sort_results(std::vector<Combination<8>>&);
template class RunMerger<Result>;
template class RunMerger<Combination<2>>;
template class RunMerger<Combination<3>>;
template class RunMerger<Combination<4>>;
template class RunMerger<Combination<5>>;
template class RunMerger<Combination<6>>;
template class RunMerger<Combination<7>>;
template class RunMerger<Combination<8>>;

}  // namespace watersmeet
