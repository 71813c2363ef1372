// A binary min-heap of cursors over sorted lists, ordered by their field `key`.
//
// Invariants
//   (1) After build(), no cursor has a smaller key than its parent.
//   (2) The caller restores (1) with sink_top() after it has raised the key of top().
// Cost       build O(n); sink_top and drop_top O(log n); no allocation once grown.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace watersmeet {

template <class Cursor>
class CursorHeap {
 public:
  [[nodiscard]] bool empty() const { return cursors_.empty(); }
  [[nodiscard]] Cursor& top() { return cursors_.front(); }
  [[nodiscard]] std::size_t bytes() const { return cursors_.capacity() * sizeof(Cursor); }

  void clear() { cursors_.clear(); }
  // Adds a cursor; the order holds again only after build().
  void add(Cursor cursor) { cursors_.push_back(cursor); }
  void build() {
    for (std::size_t at = cursors_.size() / 2; at-- > 0;) sink(at);
  }
  void sink_top() { sink(0); }
  void drop_top() {
    cursors_.front() = cursors_.back();
    cursors_.pop_back();
    if (!cursors_.empty()) sink(0);
  }

 private:
  void sink(std::size_t at) {
    const Cursor sinking = cursors_[at];
    for (std::size_t child = 2 * at + 1; child < cursors_.size(); child = 2 * at + 1) {
      if (child + 1 < cursors_.size() && cursors_[child + 1].key < cursors_[child].key) ++child;
      if (!(cursors_[child].key < sinking.key)) break;
      cursors_[at] = cursors_[child];
      at = child;
    }
    cursors_[at] = sinking;
  }

  std::vector<Cursor> cursors_;
};

}  // namespace watersmeet
