// Batches drawn from the fuzzer's bytes: nulls, disorder, strings and lists of any shape either join or throw an
// error of ours, and the join goes on.
#include <cstdint>
#include <string>
#include <vector>

#include "support/arrow_batch.h"
#include "watersmeet/base/errors.h"
#include "watersmeet/join/two_way_join.h"

namespace {

class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  [[nodiscard]] bool empty() const { return size_ == 0; }
  std::uint8_t next() {
    if (size_ == 0) return 0;
    --size_;
    return *data_++;
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
};

watersmeet::JoinConfig config_of(std::uint8_t choice) {
  using namespace watersmeet;
  JoinConfig config;
  config.terms.push_back({Term{.kind = TermKind::kEqual}, Coding::kBytes, {1, 1}, "equal(name)"});
  TermConfig sets{Term{.kind = TermKind::kOverlap, .at_least = 1}, Coding::kWord, {1, 1}, "overlap(tags)"};
  if ((choice & 1) != 0) {
    config.terms.push_back(sets);
  } else {
    config.terms.insert(config.terms.begin(), sets);
  }
  for (StreamConfig& stream : config.streams) {
    stream.index = (choice & 1) != 0 ? IndexKind::kHash : IndexKind::kInverted;
    if ((choice & 2) != 0) stream.lateness = 3;
    if ((choice & 4) != 0) stream.window_rows = 4;
  }
  config.lower = -4;
  config.upper = 4;
  config.how = static_cast<How>((choice >> 3) % 6);
  return config;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, size);
  const std::uint8_t choice = bytes.next();
  watersmeet::TwoWayJoin join(config_of(choice));
  const bool sets_first = (choice & 1) == 0;
  while (!bytes.empty()) {
    const std::size_t rows = bytes.next() % 6U;
    std::vector<std::optional<std::int64_t>> times;
    std::vector<std::string> names;
    std::vector<std::vector<std::int64_t>> tags;
    for (std::size_t row = 0; row < rows; ++row) {
      const std::uint8_t time = bytes.next();
      times.push_back(time == 255 ? std::nullopt : std::optional<std::int64_t>(time));
      names.emplace_back(bytes.next() % 4U, static_cast<char>('a' + bytes.next() % 3U));
      tags.emplace_back();
      for (unsigned items = bytes.next() % 4U; items > 0; --items) tags.back().push_back(bytes.next() % 6);
    }
    watersmeet::testing::ArrowBatch batch(rows);
    batch.add(times);
    if (sets_first) batch.add_lists(tags);
    batch.add_strings(names);
    if (!sets_first) batch.add_lists(tags);
    try {
      join.begin_push(bytes.next() % 2U, batch.schema(), batch.array());
    } catch (const watersmeet::Error&) {
      continue;
    }
    if (bytes.next() % 4U == 0) {
      join.roll_back();
      continue;
    }
    watersmeet::Pairs found;
    while (join.probing()) {
      const std::size_t stream = join.probing_stream();
      join.probe(4, 100, found);
      join.accept(stream, found);
    }
    watersmeet::Released out;
    join.commit(out);
  }
  return 0;
}
