#include "watersmeet/order/hold_buffer.h"

#include <algorithm>
#include <utility>

namespace watersmeet {
namespace {

// Runs that are tried for an append: one per stream of a join, and one for what does not come in step.
constexpr std::size_t kRecentRuns = 4;
// A free run keeps memory for so many results, to be used again.
constexpr std::size_t kKeptResults = std::size_t{1} << 16;

template <class AnyResult>
[[nodiscard]] std::size_t reserved(const std::vector<AnyResult>& results) {
  return results.capacity() * sizeof(AnyResult);
}

}  // namespace

// std's heaps have their largest element on top.
template <class AnyResult>
struct HoldBufferOf<AnyResult>::Later {
  const std::vector<Run>& runs;
  bool operator()(std::size_t a, std::size_t b) const { return runs[b].front() < runs[a].front(); }
};

template <class AnyResult>
void HoldBufferOf<AnyResult>::add(std::vector<AnyResult>& results) {
  sort_results(results);
  add_sorted(results);
}

template <class AnyResult>
void HoldBufferOf<AnyResult>::add_sorted(std::vector<AnyResult>& results) {
  if (results.empty()) return;
  size_ += results.size();
  if (Run* run = run_before(results.front())) {
    append(*run, results);
  } else {
    start_run(results);
  }
  results.clear();
}

template <class AnyResult>
typename HoldBufferOf<AnyResult>::Run* HoldBufferOf<AnyResult>::run_before(const AnyResult& first) {
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

template <class AnyResult>
void HoldBufferOf<AnyResult>::append(Run& run, const std::vector<AnyResult>& results) {
  const std::size_t before = reserved(run.results);
  if (run.next > run.results.size() / 2) {
    run.results.erase(run.results.begin(), run.results.begin() + static_cast<std::ptrdiff_t>(run.next));
    run.next = 0;
  }
  run.results.insert(run.results.end(), results.begin(), results.end());
  bytes_ += reserved(run.results) - before;
}

template <class AnyResult>
void HoldBufferOf<AnyResult>::start_run(std::vector<AnyResult>& results) {
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

template <class AnyResult>
void HoldBufferOf<AnyResult>::retire(std::size_t slot) {
  Run& run = runs_[slot];
  const std::size_t before = reserved(run.results);
  run.results.clear();
  run.next = 0;
  if (run.results.capacity() > kKeptResults || free_.size() >= kRecentRuns)
    run.results = std::vector<AnyResult>();
  bytes_ -= before - reserved(run.results);
  free_.push_back(slot);
  recent_.erase(std::remove(recent_.begin(), recent_.end(), slot), recent_.end());
}

// The runs that have something to give are taken off the heap; put_back() follows, with what they keep.
template <class AnyResult>
template <class Stop>
void HoldBufferOf<AnyResult>::take_spans(Stop stop) {
  touched_.clear();
  spans_.clear();
  while (!heap_.empty() && !stop(runs_[heap_.front()].front())) {
    std::pop_heap(heap_.begin(), heap_.end(), Later{runs_});
    Run& run = runs_[heap_.back()];
    touched_.push_back(heap_.back());
    heap_.pop_back();
    const AnyResult* first = run.results.data() + run.next;
    const AnyResult* last = run.results.data() + run.results.size();
    const AnyResult* end =
        std::partition_point(first, last, [&](const AnyResult& result) { return !stop(result); });
    spans_.push_back({first, end});
    run.next += static_cast<std::size_t>(end - first);
    size_ -= static_cast<std::size_t>(end - first);
  }
}

template <class AnyResult>
void HoldBufferOf<AnyResult>::put_back() {
  for (const std::size_t slot : touched_) {
    if (runs_[slot].next == runs_[slot].results.size()) {
      retire(slot);
    } else {
      heap_.push_back(slot);
      std::push_heap(heap_.begin(), heap_.end(), Later{runs_});
    }
  }
}

template <class AnyResult>
void HoldBufferOf<AnyResult>::pass(std::span<std::vector<AnyResult>* const> fresh, Timestamp bound,
                                   Columns& out) {
  take_spans([bound](const AnyResult& result) { return result.ts >= bound; });
  for (std::vector<AnyResult>* results : fresh) {
    sort_results(*results);
    const auto end = std::partition_point(results->begin(), results->end(),
                                          [bound](const AnyResult& result) { return result.ts < bound; });
    const auto leaving = static_cast<std::size_t>(end - results->begin());
    if (leaving > 0) spans_.push_back({results->data(), results->data() + leaving});
  }
  if (!spans_.empty()) merger_.merge(spans_, out);
  put_back();
  for (std::vector<AnyResult>* results : fresh) {
    const auto end = std::partition_point(results->begin(), results->end(),
                                          [bound](const AnyResult& result) { return result.ts < bound; });
    results->erase(results->begin(), end);
    add_sorted(*results);
  }
}

template <class AnyResult>
void HoldBufferOf<AnyResult>::release_all(Columns& out) {
  take_spans([](const AnyResult&) { return false; });
  if (!spans_.empty()) merger_.merge(spans_, out);
  put_back();
}

template <class AnyResult>
RowId HoldBufferOf<AnyResult>::first_row(std::size_t stream) const {
  RowId first = kNoRow;
  for (const std::size_t slot : heap_) {
    const Run& run = runs_[slot];
    for (std::size_t at = run.next; at < run.results.size(); ++at) {
      first = std::min(first, run.results[at].row(stream));
    }
  }
  return first;
}

template <class AnyResult>
bool HoldBufferOf<AnyResult>::holds(const std::array<RowId, AnyResult::kStreams>& rows) const {
  const auto matches = [&rows](const AnyResult& result) {
    for (std::size_t stream = 0; stream < rows.size(); ++stream) {
      if (result.row(stream) != rows[stream]) return false;
    }
    return true;
  };
  return std::any_of(heap_.begin(), heap_.end(), [&](std::size_t slot) {
    const Run& run = runs_[slot];
    return std::any_of(run.results.begin() + static_cast<std::ptrdiff_t>(run.next), run.results.end(),
                       matches);
  });
}

template <class AnyResult>
void HoldBufferOf<AnyResult>::trim() {
  for (const std::size_t slot : free_) runs_[slot].results = {};
  bytes_ = 0;
  for (Run& run : runs_) {
    run.results.erase(run.results.begin(), run.results.begin() + static_cast<std::ptrdiff_t>(run.next));
    run.next = 0;
    run.results.shrink_to_fit();
    bytes_ += reserved(run.results);
  }
}

// Written as one sorted run: the bytes then depend on what is held, not on how it came.
template <class AnyResult>
void HoldBufferOf<AnyResult>::save(ByteWriter& writer) const {
  std::vector<AnyResult> all;
  all.reserve(size_);
  for (const std::size_t slot : heap_) {
    const Run& run = runs_[slot];
    all.insert(all.end(), run.results.begin() + static_cast<std::ptrdiff_t>(run.next), run.results.end());
  }
  std::sort(all.begin(), all.end());
  writer.put_array(all.data(), all.size());
}

template <class AnyResult>
void HoldBufferOf<AnyResult>::load(ByteReader& reader) {
  *this = HoldBufferOf();
  std::vector<AnyResult> all = reader.template get_array<AnyResult>();
  add(all);
}

template class HoldBufferOf<Result>;
template class HoldBufferOf<Combination<2>>;
template class HoldBufferOf<Combination<3>>;
template class HoldBufferOf<Combination<4>>;
template class HoldBufferOf<Combination<5>>;
template class HoldBufferOf<Combination<6>>;
template class HoldBufferOf<Combination<7>>;
template class HoldBufferOf<Combination<8>>;

}  // namespace watersmeet
