// W4: the three-way equi-join as a bare loop. Rows are taken in time order, ties by stream; each one probes
// the two other streams' rings, and any older row within the window of the newest is within the window of the
// rest, so the matches of the two chains combine freely. Heads are prefetched a few ticks ahead.
#include "../hash_ring.h"

namespace {

using loop::HashRing;
using loop::Options;
using loop::Output;

constexpr int kStreams = 3;
constexpr int64_t kHeadAhead = 12;
constexpr int64_t kLinkAhead = 6;

// Rows of `ring` with this key that are no older than `oldest`, newest first.
void matches(const HashRing& ring, int64_t key, int64_t oldest, std::vector<int64_t>& found) {
  found.clear();
  for (int64_t row = ring.head(key); row >= oldest; row = ring.link(row).previous) {
    if (ring.link(row).key == key) found.push_back(row);
  }
}

void combine(int stream, int64_t row, const std::vector<int64_t>* found, Output& output) {
  const auto& first = found[stream == 0 ? 1 : 0];
  const auto& second = found[stream == 2 ? 1 : 2];
  output.reserve(static_cast<int64_t>(first.size() * second.size()));
  for (const int64_t one : first) {
    for (const int64_t two : second) {
      if (stream == 0) output.put(row, one, two);
      if (stream == 1) output.put(one, row, two);
      if (stream == 2) output.put(one, two, row);
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  const Options options = loop::parse(count, arguments);
  std::vector<std::vector<int64_t>> keys;
  std::vector<HashRing> rings;
  for (int stream = 0; stream < kStreams; ++stream) {
    keys.push_back(loop::read_npy<int64_t>(loop::array_path(options, "key", stream), options.rows));
    rings.emplace_back(options.reach() + 2);
  }
  const auto key_of = [&](int stream, int64_t row) {
    return keys[static_cast<size_t>(stream)][static_cast<size_t>(row)];
  };
  return loop::measure(options, kStreams, [&](Output& output) {
    std::vector<int64_t> found[kStreams];
    for (int64_t row = 0; row < options.rows; ++row) {
      for (int stream = 0; stream < kStreams; ++stream) {
        for (const HashRing& ring : rings) {
          if (row + kHeadAhead < options.rows) ring.prefetch_head(key_of(stream, row + kHeadAhead));
          if (row + kLinkAhead < options.rows)
            ring.prefetch_link(ring.head(key_of(stream, row + kLinkAhead)));
        }
      }
      const int64_t oldest = std::max<int64_t>(0, row - options.reach());
      for (int stream = 0; stream < kStreams; ++stream) {
        const int64_t key = key_of(stream, row);
        bool all = true;
        for (int other = 0; other < kStreams && all; ++other) {
          if (other == stream) continue;
          matches(rings[static_cast<size_t>(other)], key, oldest, found[other]);
          all = !found[other].empty();
        }
        if (all) combine(stream, row, found, output);
        rings[static_cast<size_t>(stream)].append(row, key);
      }
      if (row % options.batch == 0) output.flush();
    }
    output.flush();
  });
}
