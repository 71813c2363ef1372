// The paper's merge: a binary min-heap of list cursors, keyed by the row each stands on ([Gedik] III-C).

#include <vector>

#include "watersmeet/merge/cursor_heap.h"
#include "watersmeet/merge/merge.h"

namespace watersmeet {
namespace {

class HeapMerge final : public Merge {
 public:
  std::uint64_t run(const MergeInput& input, Candidates& found) override {
    found.clear();
    const auto base = static_cast<Position>(input.first_row);
    std::uint64_t postings = 0;
    heap_.clear();
    for (const PostingView& list : input.lists) {
      postings += list.size;
      if (list.size > 0) heap_.add({list.positions[0] - base, list.positions, list.positions + list.size});
    }
    heap_.build();
    while (!heap_.empty()) {
      const std::uint32_t row = heap_.top().key;
      std::uint32_t count = 0;
      while (!heap_.empty() && heap_.top().key == row) {
        ++count;
        Cursor& cursor = heap_.top();
        if (++cursor.next == cursor.end) {
          heap_.drop_top();
        } else {
          cursor.key = *cursor.next - base;
          heap_.sink_top();
        }
      }
      if (count >= input.least) {
        found.offsets.push_back(row);
        found.counts.push_back(count);
      }
    }
    return postings;
  }

  [[nodiscard]] std::size_t bytes() const override { return heap_.bytes(); }

 private:
  struct Cursor {
    std::uint32_t key;
    const Position* next;
    const Position* end;
  };
  CursorHeap<Cursor> heap_;
};

}  // namespace

std::unique_ptr<Merge> make_heap_merge() { return std::make_unique<HeapMerge>(); }

}  // namespace watersmeet
