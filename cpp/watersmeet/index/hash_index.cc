// Hash index for equal keys: bucket heads, and per row a link to the previous row of its bucket.
//
// A chain runs from the newest row to older ones, so that expiry costs nothing: the first dead row ends it.
// Rows are kept as 32-bit places: place = row - floor + 1, and 0 ends a chain. Before places run out, floor moves
// up to the oldest live row and every place with it.

#include <algorithm>
#include <vector>

#include "watersmeet/base/hash.h"
#include "watersmeet/base/sliding_array.h"
#include "watersmeet/index/index.h"
#include "watersmeet/index/row_output.h"

namespace watersmeet {
namespace {

using Place = std::uint32_t;

struct Link {
  std::uint64_t key;
  Place previous;
};

constexpr std::size_t kFewestHeads = 1024;

class HashIndex final : public Index {
 public:
  explicit HashIndex(const Window& window) : window_(window), heads_(kFewestHeads) {}

  void append(Seq first, Seq last) override {
    if (links_.empty()) {
      std::fill(heads_.begin(), heads_.end(), Place{0});
      links_.reset(first);
      floor_ = first;
    }
    links_.drop_front_to(std::min(window_.begin(), links_.end()));
    if (last - floor_ >= UINT32_MAX) move_floor();
    if (2 * (last - links_.begin()) > heads_.size()) grow(2 * (last - links_.begin()));
    const std::uint64_t* keys = std::get<KeyColumn>(window_.columns[0]).words.at(first);
    const std::uint8_t* joinable = window_.joinable.at(first);
    for (Seq row = first; row < last; ++row) {
      const std::uint64_t key = keys[row - first];
      links_.push_back({key, 0});
      if (joinable[row - first]) enter(row);
    }
  }

  void expire_before(Seq row) override { links_.drop_front_to(std::min(row, links_.end())); }

  void truncate(Seq row) override {
    row = std::max(row, links_.begin());
    for (Seq newest = links_.end(); newest-- > row;) {
      Place& head = heads_[bucket(links_[newest].key)];
      if (head == place(newest)) head = links_[newest].previous;
    }
    links_.truncate_to(row);
  }

  std::size_t probe(const ProbeRun& run, Pairs& pairs, Work& work) override {
    return for_each_request(run, window_, pairs, work, [&](Seq row, LiveRange range) {
      const std::uint64_t key = std::get<KeyColumn>(run.own->columns[0]).words[row];
      const std::size_t before = pairs.size();
      ++work.lookups;
      for (Place at = heads_[bucket(key)]; at != 0;) {
        const Seq other = floor_ + at - 1;
        if (other < range.lo) break;
        const Link& link = links_[other];
        if (link.key == key && other < range.hi) pairs.add(row, other);
        at = link.previous;
      }
      std::reverse(pairs.other.begin() + static_cast<std::ptrdiff_t>(before), pairs.other.end());
      work.comparisons += pairs.size() - before;
    });
  }

  [[nodiscard]] std::size_t bytes() const override {
    return links_.bytes() + heads_.capacity() * sizeof(Place);
  }

 private:
  [[nodiscard]] std::size_t bucket(std::uint64_t key) const {
    return static_cast<std::size_t>(hash_word(key)) & (heads_.size() - 1);
  }
  [[nodiscard]] Place place(Seq row) const { return static_cast<Place>(row - floor_ + 1); }

  void enter(Seq row) {
    Place& head = heads_[bucket(links_[row].key)];
    links_[row].previous = head;
    head = place(row);
  }

  void grow(std::size_t least) {
    std::size_t size = heads_.size();
    while (size < least) size *= 2;
    heads_.assign(size, 0);
    for (Seq row = links_.begin(); row < links_.end(); ++row) {
      if (window_.joinable[row]) enter(row);
    }
  }

  void move_floor() {
    const Seq up = links_.begin() - floor_;
    const auto lower = [up](Place& at) { at = at > up ? static_cast<Place>(at - up) : 0; };
    std::for_each(heads_.begin(), heads_.end(), lower);
    for (Seq row = links_.begin(); row < links_.end(); ++row) lower(links_[row].previous);
    floor_ += up;
  }

  const Window& window_;
  Seq floor_ = 0;
  std::vector<Place> heads_;
  SlidingArray<Link> links_;
};

}  // namespace

std::unique_ptr<Index> make_hash_index(const Window& window, const Term& term) {
  if (term.kind != TermKind::kEqual) return make_scan_index(window, term);
  return std::make_unique<HashIndex>(window);
}

}  // namespace watersmeet
