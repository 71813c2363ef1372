// The windowed join of several streams by a tree of binary joins; every change is a transaction that can be
// undone.
//
// The answer: all combinations of one row per stream whose pairs satisfy their predicates, and whose members
// are all alive, each within its own stream's window, when the last of them is processed. Rows are processed
// in the order of (timestamp, stream, arrival) over all streams, once no earlier one can come; so neither
// batches nor the order of pushes matter. With allowances some rows do not probe: the answer is then a part
// of that. Where states between joins are counted (TreeConfig::state_rows), a member has to be within its
// window only when its own stream is probed; the combination stays for as long as its state keeps it, and
// none of its members gets older than its freshness.
//
// Scenario: a at 1, b at 2, c at 3 over ((A B) C). b is the last of (a, b): the pair enters the state of A+B
// at b's turn. c looks there, finds it, and the combination comes out at c's turn: once, since only c's probe
// can find it. Had c come at 1.5, the pair, made at b's turn, would itself have looked among the rows of C.
//
// A change: begin(), then any number of push(), promise(), end(), finish() and of process_slice(), which
// works on rows that are due; then commit(), which expires and gives the results out, or roll_back(), which
// leaves everything as it was. Invariants
//   (1) Each combination is found once, at the turn of its newest member.
//   (2) A row leaves its window only when no row still to come can meet it.
// Threads    one caller at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "watersmeet/join/ages.h"
#include "watersmeet/join/joint.h"
#include "watersmeet/join/leaf.h"
#include "watersmeet/join/tree_config.h"
#include "watersmeet/tuple/arrow_abi.h"

namespace watersmeet {

class TreeJoin {
 public:
  explicit TreeJoin(TreeConfig config);

  void begin();
  // The batch: an Arrow struct of the time column and the columns of the stream's pairs, in the pairs' order.
  // Throws SchemaError or OrderError; the change can then only be rolled back.
  void push(std::size_t stream, const ArrowSchema& schema, const ArrowArray& array);
  // Nothing of `stream` older than `to` will come.
  void promise(std::size_t stream, Timestamp to);
  // Nothing will come any more.
  void finish();
  // The same of one stream.
  void end(std::size_t stream);

  // The timestamp of the next row that is due, if any is.
  [[nodiscard]] std::optional<Timestamp> next_due() const;
  // Processes some of the rows that are due, with timestamps below `until` if that is given. Returns: whether
  // there were any.
  bool process_slice(std::optional<Timestamp> until, const Keep& keep);

  // Ends the change. Returns: the combinations found, one column of row numbers per stream, and their
  // timestamps.
  struct Combinations {
    std::vector<std::vector<Seq>> rows;
    std::vector<Timestamp> times;
  };
  [[nodiscard]] Combinations commit();
  void roll_back();

  // Whether rows are processed by (timestamp, stream), each when nothing before it can come any more
  // (Sync-Filter), or as they come (Filter-Order): then combinations are found in any order, each once, all
  // the same. From the next change on; windows of rows, counted states and budgets keep to the order of time.
  void set_synchronised(bool synchronised);
  [[nodiscard]] bool synchronised() const { return synchronised_; }
  // No combination still to be found is older than this; none if none can be found any more.
  [[nodiscard]] std::optional<Timestamp> low() const;

  // Probes per cycle of each half-way join, join by join, first input first; empty: as many as there are
  // rows. `spare`: their shares of what is left over and nobody was denied. `carried`: cycles that each keeps
  // what it does not use; empty: the configuration's. Part of a change, if one is under way.
  void set_allowances(const std::vector<double>& per_cycle, const std::vector<double>& spare = {},
                      const std::vector<double>& carried = {});
  // Which cells they go to, in the same order; empty: whole probes.
  void set_cells(const std::vector<CellPlan>& plans);
  // Another tree over the same streams, with the same answer. Not within a change, nor where states are
  // counted.
  void set_tree(std::vector<TreeInputs> joins, const Keep& keep);

  // Everything but the configuration. Loading, into a join with the configuration and the tree of the saved
  // one, throws SnapshotError for bytes that no join could have written. Not within a change.
  void save(ByteWriter& writer) const;
  void load(ByteReader& reader);

  [[nodiscard]] const TreeConfig& config() const { return config_; }
  [[nodiscard]] const Leaf& leaf(std::size_t stream) const { return *leaves_[stream]; }
  [[nodiscard]] const std::vector<std::unique_ptr<Joint>>& joints() const { return joints_; }
  [[nodiscard]] const std::vector<Ages>& ages() const { return ages_; }
  [[nodiscard]] std::uint64_t results() const { return results_; }
  [[nodiscard]] std::size_t bytes() const;

 private:
  void build();
  void replay(const Keep& keep);
  [[nodiscard]] TreeState& state_of(std::size_t input) const;
  [[nodiscard]] std::size_t next_stream(std::optional<Timestamp> until) const;
  [[nodiscard]] bool is_due(std::size_t stream) const;
  [[nodiscard]] bool take_slice(std::optional<Timestamp> until);
  [[nodiscard]] std::size_t take_in_order(std::optional<Timestamp> until);
  [[nodiscard]] std::size_t take_one_stream(std::optional<Timestamp> until);
  [[nodiscard]] Wide lowest() const;
  void begin_cycle(std::int64_t cycle);
  void expire();
  [[nodiscard]] Seq first_alive(const Leaf& leaf, Wide low, bool within_window) const;
  void drop_combinations(TreeState& state, const std::vector<Seq>& alive);
  void load_state(ByteReader& reader, Joint& joint);

  TreeConfig config_;
  std::vector<TermSet> pairs_;
  std::vector<std::unique_ptr<Leaf>> leaves_;
  std::vector<std::unique_ptr<Joint>> joints_;
  std::vector<Ages> ages_;
  std::uint64_t results_ = 0;
  std::vector<std::vector<Seq>> found_;
  std::vector<Timestamp> found_times_;
  std::optional<std::int64_t> cycle_;  // of the budget
  bool synchronised_ = true;
  // Whether a row still to be processed may be older than one that was: then slices are of one stream, and
  // windows are looked at in both directions (SPEC H5).
  bool unsettled_ = false;
  Timestamp newest_processed_ = kMinTimestamp;

  struct LeafBefore {
    Seq end;
    Seq processed;
    Timestamp watermark;
    bool ended;
  };
  struct JointBefore {
    Seq end;
    std::array<HalfJoin, kSides> halves;
  };
  std::vector<LeafBefore> leaves_before_;
  std::vector<JointBefore> joints_before_;
  std::vector<Ages> ages_before_;
  std::optional<std::int64_t> cycle_before_;
  bool unsettled_before_ = false;
  Timestamp newest_processed_before_ = kMinTimestamp;
};

}  // namespace watersmeet
