// One binary join of a tree: rows of a slice from either input look for partners in the other's state.
//
// A row may meet the partners that were processed before it and are alive when it is processed: within their
// own stream's window, counted back from the row. A combination is alive while all its members are. Paper:
// [JAQPOT] 2, half-way joins; probes may be rationed, to some rows or to some cells of the state; rows are
// kept all the same. Threads    one caller at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "watersmeet/join/ages.h"
#include "watersmeet/join/allowance.h"
#include "watersmeet/join/leaf.h"
#include "watersmeet/join/probe_cells.h"
#include "watersmeet/join/tree_state.h"

namespace watersmeet {

// The caller's own predicate of a pair: sets keep[at] to 0 for candidates that do not satisfy it. The rows
// are those of the pair's first and second stream.
using Keep = std::function<void(std::size_t pair, const std::vector<Seq>& first,
                                const std::vector<Seq>& second, std::vector<std::uint8_t>& keep)>;

// The work of one input's new rows in the other's state.
struct HalfJoinCounts {
  std::uint64_t rows = 0;   // that came
  std::uint64_t looks = 0;  // of these, that were allowed to look, at some cells or all
  std::uint64_t cells = 0;  // that they looked at: kCells make a probe
  std::uint64_t due = 0;    // rows of the other state within reach of the looks
  std::uint64_t made = 0;   // combinations that came of it
  Work work;
};

struct HalfJoin {
  HalfJoinCounts counts;
  CellCounts by_cell;  // counted while probes are rationed
  Allowance allowance;
  CellPlan plan;
  double denied = 0;  // probes that rows of this cycle wanted and did not get
  double spare = 0;   // its share of what nobody was denied
};

class Joint {
 public:
  // `inputs`: a stream's state or another joint's output. `output` is null for the root.
  Joint(const TreeConfig& config, std::array<TreeState*, kSides> inputs, std::unique_ptr<TreeState> output);

  // Where the root puts what it finds: one column of rows per stream, and timestamps.
  struct Found {
    std::vector<std::vector<Seq>>& rows;
    std::vector<Timestamp>& times;
  };
  // Finds the combinations that the rows of the inputs' slices make, in the order of their turns, and puts
  // them into the output; those of the root go to `results`, and their members' ages to `ages`. `two_sided`:
  // the rows of the slice are of one stream, and may be older than those that were processed before.
  void process(const std::vector<std::unique_ptr<Leaf>>& leaves, const Keep& keep, Found results,
               std::vector<Ages>* ages, bool two_sided);

  [[nodiscard]] TreeState& input(std::size_t side) const { return *inputs_[side]; }
  [[nodiscard]] TreeState* output() const { return output_.get(); }
  // The pair whose first term drives this join's indexes, or kNoPair.
  [[nodiscard]] std::size_t driver() const { return driver_; }

  // What the join above needs of this one's output: the pair that drives it, and on which side its stream is.
  void feed(std::size_t pair);
  // Appends what the join above looks up of the output's row, if it looks anything up; nothing if the row is
  // not alive.
  void copy_driver(const std::vector<std::unique_ptr<Leaf>>& leaves, Seq row, bool alive);

  std::array<HalfJoin, kSides> halves;

 private:
  struct Requests;
  struct Crossing {
    std::size_t pair = 0;
    std::array<std::size_t, kSides> at{};  // where the pair's stream is among the members of each input
    bool first_is_left = true;             // whether the first input holds the pair's first stream
  };

  void probe(std::size_t side, const std::vector<std::unique_ptr<Leaf>>& leaves, const Keep& keep,
             bool two_sided, Pairs& found);
  void find_ranges(std::size_t side, const std::vector<std::unique_ptr<Leaf>>& leaves, Requests& requests);
  void find_two_sided(std::size_t side, const std::vector<std::unique_ptr<Leaf>>& leaves, Requests& requests);
  // How many cells a row of this time may look at.
  [[nodiscard]] static std::size_t granted(HalfJoin& half, std::int64_t cycle);
  static void count_matches(HalfJoin& half, const Requests& requests, std::size_t first, std::size_t request,
                            const Pairs& found);
  void filter(std::size_t side, const std::vector<std::unique_ptr<Leaf>>& leaves, const Requests& requests,
              std::size_t first, std::size_t& request, Pairs& found) const;
  void filter_opaque(std::size_t side, const Keep& keep, std::size_t first, Pairs& found) const;
  [[nodiscard]] bool satisfies_rest(std::size_t side, const std::vector<std::unique_ptr<Leaf>>& leaves,
                                    Seq own, Seq other) const;
  void add_output(const std::vector<std::unique_ptr<Leaf>>& leaves, std::size_t side, Seq own, Seq other);

  const TreeConfig& config_;
  std::array<TreeState*, kSides> inputs_;
  std::unique_ptr<TreeState> output_;
  std::vector<Crossing> crossings_;
  std::size_t driver_ = kNoPair;
  std::size_t feeds_pair_ = kNoPair;
  std::size_t feeds_member_ = 0;
};

}  // namespace watersmeet
