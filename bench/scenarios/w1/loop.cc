// W1, W1z: the equi-join as a bare loop. Batches of the two streams alternate; each batch probes the other
// stream's ring and then enters its own. Both streams are in time order, so the rows that a probe may meet
// are found by two indices that only move forward over the other's timestamps. Three stages of a batch run
// apart by a fixed distance, so that the bucket head and the first link are in cache when the chain is
// walked. Variant "fresh" takes the memory of its rings under the clock, as a join that starts has to.
#include "../hash_ring.h"

namespace {

using loop::HashRing;
using loop::Link;
using loop::Options;
using loop::Output;

constexpr int64_t kHeadAhead = 24;
constexpr int64_t kLinkAhead = 12;
constexpr int64_t kHeadsKept = 64;  // a power of two above kLinkAhead

struct Side {
  std::vector<int64_t> keys;
  std::vector<int64_t> times;
  HashRing ring;
  int64_t entered = 0;
  // Rows [oldest, newest) are in the window of the other side's latest probe.
  int64_t oldest = 0;
  int64_t newest = 0;

  Side(const Options& options, int stream)
      : keys(loop::read_npy<int64_t>(loop::array_path(options, "key", stream), options.rows)),
        times(keys.size()),
        ring(options.variant == "fresh" ? 1 : options.reach() + options.batch + 1) {
    for (size_t row = 0; row < times.size(); ++row) {
      times[row] = static_cast<int64_t>(row) * options.spacing_us;
    }
  }

  void slide_to(int64_t time, int64_t window_us) {
    while (oldest < entered && times[static_cast<size_t>(oldest)] < time - window_us) ++oldest;
    while (newest < entered && times[static_cast<size_t>(newest)] <= time + window_us) ++newest;
  }
};

template <bool kOwnIsLeft>
void probe(const Side& own, Side& other, int64_t begin, int64_t end, int64_t window_us, Output& output) {
  const int64_t* keys = own.keys.data();
  int64_t heads[kHeadsKept];
  for (int64_t row = begin - kHeadAhead; row < end; ++row) {
    if (row + kHeadAhead < end) other.ring.prefetch_head(keys[row + kHeadAhead]);
    const int64_t near = row + kLinkAhead;
    if (near >= begin && near < end) {
      heads[near % kHeadsKept] = other.ring.head(keys[near]);
      other.ring.prefetch_link(heads[near % kHeadsKept]);
    }
    if (row < begin) continue;
    other.slide_to(own.times[static_cast<size_t>(row)], window_us);
    for (int64_t found = heads[row % kHeadsKept]; found >= other.oldest;) {
      const Link& link = other.ring.link(found);
      if (link.key == keys[row] && found < other.newest) {
        output.reserve(1);
        kOwnIsLeft ? output.put(row, found) : output.put(found, row);
      }
      found = link.previous;
    }
  }
}

void enter(Side& own, int64_t begin, int64_t end) {
  const int64_t* keys = own.keys.data();
  for (int64_t row = begin; row < end; ++row) {
    if (row + kLinkAhead < end) own.ring.prefetch_head(keys[row + kLinkAhead]);
    own.ring.append(row, keys[row]);
  }
  own.entered = end;
}

}  // namespace

int main(int count, char** arguments) {
  const Options options = loop::parse(count, arguments);
  Side left(options, 0);
  Side right(options, 1);
  return loop::measure(options, 2, [&](Output& output) {
    if (options.variant == "fresh") {
      left.ring = HashRing(options.reach() + options.batch + 1);
      right.ring = HashRing(options.reach() + options.batch + 1);
    }
    for (int64_t begin = 0; begin < options.rows; begin += options.batch) {
      const int64_t end = std::min(begin + options.batch, options.rows);
      probe<true>(left, right, begin, end, options.window_us, output);
      enter(left, begin, end);
      probe<false>(right, left, begin, end, options.window_us, output);
      enter(right, begin, end);
      output.flush();
    }
  });
}
