#include "watersmeet/order/merge_runs.h"

#include <algorithm>

namespace watersmeet {
namespace {

// Scratch above this many results is given back after the merge.
constexpr std::size_t kKeptScratch = std::size_t{1} << 18;

// Where the columns are written next.
struct Cursor {
  RowId* left;
  RowId* right;
  void put(const Result& result) {
    *left++ = result.left;
    *right++ = result.right;
  }
};

void merge_pair(ResultSpan a, ResultSpan b, Cursor out) {
  while (a.begin != a.end && b.begin != b.end) out.put(*b.begin < *a.begin ? *b.begin++ : *a.begin++);
  while (a.begin != a.end) out.put(*a.begin++);
  while (b.begin != b.end) out.put(*b.begin++);
}

}  // namespace

void sort_results(std::vector<Result>& results) {
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

void RunMerger::merge(std::vector<ResultSpan>& spans, ResultRows& out) {
  std::size_t total = 0;
  for (const ResultSpan& span : spans) total += span.size();
  // The largest comes last: with an odd number it waits, unmoved, for the last round.
  std::sort(spans.begin(), spans.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
  bool last_is_in_scratch = false;
  for (std::size_t round = 0; spans.size() > 2; ++round) {
    const bool odd = spans.size() % 2 == 1;
    const bool waits = odd && !last_is_in_scratch;
    const ResultSpan last = spans.back();
    std::vector<Result>& target = scratch_[round % 2];
    target.resize(total - (waits ? last.size() : 0));
    Result* at = target.data();
    std::size_t merged = 0;
    for (std::size_t pair = 0; pair < spans.size() - (odd ? 1 : 0); pair += 2) {
      const ResultSpan& a = spans[pair];
      const ResultSpan& b = spans[pair + 1];
      Result* end = std::merge(a.begin, a.end, b.begin, b.end, at);
      spans[merged++] = {at, end};
      at = end;
    }
    spans.resize(merged);
    if (waits) spans.push_back(last);
    if (odd && !waits) spans.push_back({at, std::copy(last.begin, last.end, at)});
    last_is_in_scratch = !waits;
  }
  const std::size_t before = out.left.size();
  out.left.resize(before + total);
  out.right.resize(before + total);
  const Cursor cursor{out.left.data() + before, out.right.data() + before};
  merge_pair(spans.empty() ? ResultSpan{} : spans.front(), spans.size() < 2 ? ResultSpan{} : spans.back(),
             cursor);
  for (std::vector<Result>& scratch : scratch_) {
    if (scratch.capacity() > kKeptScratch) scratch = std::vector<Result>();
  }
}

}  // namespace watersmeet
