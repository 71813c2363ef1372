#include "watersmeet/order/hold_buffer.h"

#include <algorithm>
#include <utility>

namespace watersmeet {
namespace {

// Runs that are tried for an append: one per stream of a join, and one for what does not come in step.
constexpr std::size_t kRecentRuns = 4;
// A free run keeps memory for so many results, to be used again.
constexpr std::size_t kKeptResults = std::size_t{1} << 16;

[[nodiscard]] std::size_t reserved(const std::vector<Result>& results) {
  return results.capacity() * sizeof(Result);
}

}  // namespace

// std's heaps have their largest element on top.
struct HoldBuffer::Later {
  const std::vector<Run>& runs;
  bool operator()(std::size_t a, std::size_t b) const { return runs[b].front() < runs[a].front(); }
};

void HoldBuffer::add(std::vector<Result>& results) {
  if (results.empty()) return;
  sort_results(results);
  size_ += results.size();
  if (Run* run = run_before(results.front())) {
    append(*run, results);
  } else {
    start_run(results);
  }
  results.clear();
}

HoldBuffer::Run* HoldBuffer::run_before(const Result& first) {
  std::size_t best = recent_.size();
  for (std::size_t at = 0; at < recent_.size(); ++at) {
    const Run& run = runs_[recent_[at]];
    if (first < run.back()) continue;
    if (best == recent_.size() || runs_[recent_[best]].back() < run.back()) best = at;
  }
  if (best == recent_.size()) return nullptr;
  std::rotate(recent_.begin() + static_cast<std::ptrdiff_t>(best),
              recent_.begin() + static_cast<std::ptrdiff_t>(best) + 1, recent_.end());
  return &runs_[recent_.back()];
}

void HoldBuffer::append(Run& run, const std::vector<Result>& results) {
  const std::size_t before = reserved(run.results);
  if (run.next > run.results.size() / 2) {
    run.results.erase(run.results.begin(), run.results.begin() + static_cast<std::ptrdiff_t>(run.next));
    run.next = 0;
  }
  run.results.insert(run.results.end(), results.begin(), results.end());
  bytes_ += reserved(run.results) - before;
}

void HoldBuffer::start_run(std::vector<Result>& results) {
  if (free_.empty()) {
    free_.push_back(runs_.size());
    runs_.emplace_back();
  }
  const std::size_t slot = free_.back();
  free_.pop_back();
  Run& run = runs_[slot];
  const std::size_t before = reserved(run.results);
  // A large batch changes hands; a small one is copied, so that its larger buffer stays with the giver.
  if (results.size() * 2 > results.capacity() || results.capacity() <= run.results.capacity()) {
    std::swap(run.results, results);
  } else {
    run.results.assign(results.begin(), results.end());
  }
  run.next = 0;
  bytes_ += reserved(run.results) - before;
  heap_.push_back(slot);
  std::push_heap(heap_.begin(), heap_.end(), Later{runs_});
  if (recent_.size() == kRecentRuns) recent_.erase(recent_.begin());
  recent_.push_back(slot);
}

void HoldBuffer::retire(std::size_t slot) {
  Run& run = runs_[slot];
  const std::size_t before = reserved(run.results);
  run.results.clear();
  run.next = 0;
  if (run.results.capacity() > kKeptResults || free_.size() >= kRecentRuns)
    run.results = std::vector<Result>();
  bytes_ -= before - reserved(run.results);
  free_.push_back(slot);
  recent_.erase(std::remove(recent_.begin(), recent_.end(), slot), recent_.end());
}

// The runs that have something to give are taken off the heap, merged, and put back with what they keep.
template <class Stop>
void HoldBuffer::release_until(Stop stop, ResultRows& out) {
  touched_.clear();
  spans_.clear();
  while (!heap_.empty() && !stop(runs_[heap_.front()].front())) {
    std::pop_heap(heap_.begin(), heap_.end(), Later{runs_});
    Run& run = runs_[heap_.back()];
    touched_.push_back(heap_.back());
    heap_.pop_back();
    const Result* first = run.results.data() + run.next;
    const Result* last = run.results.data() + run.results.size();
    const Result* end =
        std::partition_point(first, last, [&](const Result& result) { return !stop(result); });
    spans_.push_back({first, end});
    run.next += static_cast<std::size_t>(end - first);
    size_ -= static_cast<std::size_t>(end - first);
  }
  if (touched_.empty()) return;
  merger_.merge(spans_, out);
  for (const std::size_t slot : touched_) {
    if (runs_[slot].next == runs_[slot].results.size()) {
      retire(slot);
    } else {
      heap_.push_back(slot);
      std::push_heap(heap_.begin(), heap_.end(), Later{runs_});
    }
  }
}

void HoldBuffer::release_before(Timestamp bound, ResultRows& out) {
  release_until([bound](const Result& result) { return result.ts >= bound; }, out);
}

void HoldBuffer::release_all(ResultRows& out) {
  release_until([](const Result&) { return false; }, out);
}

RowId HoldBuffer::first_row(bool left) const {
  RowId first = kNoRow;
  for (const std::size_t slot : heap_) {
    const Run& run = runs_[slot];
    for (std::size_t at = run.next; at < run.results.size(); ++at) {
      first = std::min(first, left ? run.results[at].left : run.results[at].right);
    }
  }
  return first;
}

bool HoldBuffer::holds(RowId left, RowId right) const {
  return std::any_of(heap_.begin(), heap_.end(), [&](std::size_t slot) {
    const Run& run = runs_[slot];
    return std::any_of(run.results.begin() + static_cast<std::ptrdiff_t>(run.next), run.results.end(),
                       [&](const Result& result) { return result.left == left && result.right == right; });
  });
}

// Written as one sorted run: the bytes then depend on what is held, not on how it came.
void HoldBuffer::save(ByteWriter& writer) const {
  std::vector<Result> all;
  all.reserve(size_);
  for (const std::size_t slot : heap_) {
    const Run& run = runs_[slot];
    all.insert(all.end(), run.results.begin() + static_cast<std::ptrdiff_t>(run.next), run.results.end());
  }
  std::sort(all.begin(), all.end());
  writer.put_array(all.data(), all.size());
}

void HoldBuffer::load(ByteReader& reader) {
  *this = HoldBuffer();
  std::vector<Result> all = reader.get_array<Result>();
  add(all);
}

}  // namespace watersmeet
