// What a join on slices is told once, at its birth; all times and spans in the join's own unit.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "watersmeet/base/types.h"
#include "watersmeet/predicate/term.h"
#include "watersmeet/tuple/ingest.h"

namespace watersmeet {

// A message carries one row number per stream; more streams would make all of them larger.
inline constexpr std::size_t kMostStreams = 8;

// One native term between two streams: `left` and `right` are stream numbers.
struct SliceTerm {
  Term term;
  Coding coding = Coding::kWord;
  std::size_t left = 0;
  std::size_t right = 1;
  // How many Arrow columns the term takes from the batches of its left and right stream.
  std::array<std::size_t, 2> columns = {1, 1};
  std::string label;
};

struct SliceStream {
  std::string name;
  std::string time_column;
  std::int64_t time_multiplier = 1;
  // A window of so many rows; without it, of `span`.
  std::optional<std::uint64_t> window_rows;
  Duration span = 0;
  // Into how many slices a ring cuts the window at first; 0: as many as it has places.
  std::size_t slices = 0;
};

enum class Topology : std::uint8_t { kRing, kSplit };

struct SliceConfig {
  std::vector<SliceStream> streams;
  std::vector<SliceTerm> terms;
  // Streams among which a check outside the core decides: a candidate that has all of them is asked for.
  std::vector<std::vector<std::size_t>> checks;
  // A row exactly as old as its window is still in it. Departs from [PSP], whose windows end before (SPEC
  // P9).
  bool inclusive = true;
  // Whether rows may be processed as they come instead of by time (SliceJoin::set_synchronised); results are
  // then given with a last column, their timestamps, by which the caller puts them in order.
  bool ordered = false;
  Topology topology = Topology::kRing;
  std::size_t slices = 1;
  // Cycles in flight at once; 1 is the basic model of [PSP].
  std::size_t interleave = 1;
  // Tests: run the nodes on the calling thread, in an order drawn from this seed, ...
  std::optional<std::uint64_t> schedule_seed;
  // ... or on their threads, with pauses before messages drawn from this one.
  std::optional<std::uint64_t> delay_seed;
};

}  // namespace watersmeet
