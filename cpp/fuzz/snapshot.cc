// Any bytes given to a restore either make a join or throw SnapshotError.
//
// The first byte picks the configuration; the rest is the body, unframed: the frame's checksum would keep the
// fuzzer out.
#include <cstdint>

#include "watersmeet/base/errors.h"
#include "watersmeet/join/two_way_join.h"

namespace {

watersmeet::JoinConfig config_of(std::uint8_t choice) {
  using namespace watersmeet;
  JoinConfig config;
  TermConfig term;
  term.label = "term";
  switch (choice % 4) {
    case 0:
      term.term.kind = TermKind::kEqual;
      break;
    case 1:
      term.term.kind = TermKind::kEqual;
      term.coding = Coding::kBytes;
      break;
    case 2:
      term.term.kind = TermKind::kOverlap;
      term.term.at_least = 2;
      break;
    default:
      term.term.kind = TermKind::kCosine;
      term.term.at_least = 0.5;
      break;
  }
  const IndexKind index = term.term.is_set() ? IndexKind::kInverted : IndexKind::kHash;
  for (StreamConfig& stream : config.streams) {
    stream.index = (choice & 4) != 0 ? index : IndexKind::kScan;
    if ((choice & 8) != 0) stream.lateness = 5;
    if ((choice & 16) != 0) stream.window_rows = 10;
  }
  config.terms.push_back(term);
  config.lower = -10;
  config.upper = 10;
  config.how = (choice & 32) != 0 ? How::kFull : How::kInner;
  config.order = (choice & 64) != 0 ? Order::kFilterOrder : Order::kNone;
  return config;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  watersmeet::TwoWayJoin join(config_of(data[0]));
  try {
    watersmeet::ByteReader reader({reinterpret_cast<const char*>(data + 1), size - 1});
    join.load(reader);
    join.begin_finish();
    watersmeet::Pairs found;
    while (join.probing()) {
      const std::size_t stream = join.probing_stream();
      join.probe(1000, 100000, found);
      join.accept(stream, found);
    }
    watersmeet::Released out;
    join.commit(out);
  } catch (const watersmeet::SnapshotError&) {
    return 0;
  }
  return 0;
}
