#include "watersmeet/order/hold_buffer.h"

#include <algorithm>
#include <utility>

namespace watersmeet {
namespace {

// std's heaps have their largest element on top.
constexpr auto kLater = [](const auto& a, const auto& b) { return b.front() < a.front(); };

}  // namespace

void HoldBuffer::add(std::vector<Result> results) {
  if (results.empty()) return;
  if (!std::is_sorted(results.begin(), results.end())) std::sort(results.begin(), results.end());
  size_ += results.size();
  push_run({std::move(results), 0});
}

void HoldBuffer::push_run(Run run) {
  heap_.push_back(std::move(run));
  std::push_heap(heap_.begin(), heap_.end(), kLater);
}

// The top run gives results until another run's next one is smaller; only then the heap is touched.
template <class Stop>
void HoldBuffer::release_until(Stop stop, std::vector<Result>& out) {
  while (!heap_.empty() && !stop(heap_.front().front())) {
    std::pop_heap(heap_.begin(), heap_.end(), kLater);
    Run run = std::move(heap_.back());
    heap_.pop_back();
    const Result* rival = heap_.empty() ? nullptr : &heap_.front().front();
    const std::size_t first = run.next;
    while (run.next < run.results.size() && !stop(run.front()) && (rival == nullptr || !(*rival < run.front()))) {
      ++run.next;
    }
    out.insert(out.end(), run.results.begin() + static_cast<std::ptrdiff_t>(first),
               run.results.begin() + static_cast<std::ptrdiff_t>(run.next));
    size_ -= run.next - first;
    if (run.next < run.results.size()) push_run(std::move(run));
  }
}

void HoldBuffer::release_before(Timestamp bound, std::vector<Result>& out) {
  release_until([bound](const Result& result) { return result.ts >= bound; }, out);
}

void HoldBuffer::release_all(std::vector<Result>& out) {
  release_until([](const Result&) { return false; }, out);
}

std::size_t HoldBuffer::bytes() const {
  std::size_t total = heap_.capacity() * sizeof(Run);
  for (const Run& run : heap_) total += run.results.capacity() * sizeof(Result);
  return total;
}

RowId HoldBuffer::first_row(bool left) const {
  RowId first = kNoRow;
  for (const Run& run : heap_) {
    for (std::size_t at = run.next; at < run.results.size(); ++at) {
      first = std::min(first, left ? run.results[at].left : run.results[at].right);
    }
  }
  return first;
}

// Written as one sorted run: the bytes then depend on what is held, not on how it came.
void HoldBuffer::save(ByteWriter& writer) const {
  std::vector<Result> all;
  all.reserve(size_);
  for (const Run& run : heap_) {
    all.insert(all.end(), run.results.begin() + static_cast<std::ptrdiff_t>(run.next), run.results.end());
  }
  std::sort(all.begin(), all.end());
  writer.put_array(all.data(), all.size());
}

void HoldBuffer::load(ByteReader& reader) {
  heap_.clear();
  size_ = 0;
  add(reader.get_array<Result>());
}

}  // namespace watersmeet
