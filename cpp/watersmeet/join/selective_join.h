// A windowed join of two streams that keeps all rows and sheds comparisons: a single server in stream time.
//
// Rows arrive, wait in an input buffer per stream and are processed one after the other, in (arrival, stream,
// sequence) order; a row's work takes work / units_per_second of the server's time. Every row that is not
// dropped at the door of a full buffer enters its window. It then probes the other window as its plan says:
// whole cells in order until the fraction is used up, then part of one; or, where cells are scored, those
// whose score passes the threshold. Of what the plans leave out, samples are visited all the same, by seeded
// chance: they tell how much is missed.
//
// A window of n rows is defined by the order of timestamps over all streams. Where there is one, a row
// arrives only when all before it in that order have, and knows how many they were, dropped ones included.
//
// A change (a batch, a promise, the end) is a transaction: begin_*(), then run() until it is done, then
// commit() or roll_back(). run() stops at control times (take_period(), set_plan(), then run() again) and
// when enough candidates are pending for accept(). What a user's function thinks of candidates matters to
// nobody before the next control time.
//
// In four files: selective_join.cc (changes and state), selective_server.cc (who is next, and when),
// selective_probe.cc (one row looks for partners), selective_snapshot.cc.
//
// Paper: [Gedik] Fig. 3, Alg. 3; SPEC sections 0 and 2.1.
// Invariants
//   (1) Each pair is decided at most once, by its later member, and only if the windows' bounds allow it.
//   (2) With units_per_second given, all that happens is a function of the rows, their arrivals, the plans
//   and the seed. (3) Per direction, due = done + shed + lost.
// Threads    one caller at a time.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "watersmeet/join/bounds.h"
#include "watersmeet/join/selective_cells.h"
#include "watersmeet/join/selective_config.h"
#include "watersmeet/join/selective_counts.h"
#include "watersmeet/join/selective_drops.h"
#include "watersmeet/join/selective_lane.h"
#include "watersmeet/join/selective_scores.h"
#include "watersmeet/join/side.h"
#include "watersmeet/join/two_way_join.h"
#include "watersmeet/order/hold_buffer.h"
#include "watersmeet/tuple/arrow_abi.h"

namespace watersmeet {

class SelectiveJoin {
 public:
  enum class Stop : std::uint8_t { kDone, kControl, kPause };

  // Candidates that no one has judged yet, in the order they were found.
  struct Pending {
    struct Tag {
      Seq own_row;
      Seq other_row;
      std::uint32_t cell;
      std::uint32_t sample;  // its number in the period, from 1; 0: none
      std::uint8_t stream;   // whose row probed
      std::uint8_t type;
      bool is_planned;     // the plan would have gone there
      bool is_incomplete;  // the probe leaves something out, or would without being a sample
    };
    std::vector<RowId> left;
    std::vector<RowId> right;
    std::vector<Tag> tags;
  };

  explicit SelectiveJoin(SelectiveConfig config);

  // As TwoWayJoin::begin_push. `at`: when the rows arrived (their timestamps without it). `kinds`: the type
  // of each row, below `types`; null: all 0.
  void begin_push(std::size_t stream, const ArrowSchema& schema, const ArrowArray& array,
                  std::optional<Timestamp> at, const std::uint8_t* kinds);
  void begin_advance(std::size_t stream, Timestamp to);
  void begin_finish();
  // The same for one stream; the other goes on.
  void begin_end(std::size_t stream);
  // Micro-batches: rows that arrived at `arrivals`, in order, on a clock of the caller's own, wait for
  // begin_drain(), which processes all that has come, whatever may still come before it.
  void begin_hold(std::size_t stream, const ArrowSchema& schema, const ArrowArray& array,
                  const Timestamp* arrivals, const std::uint8_t* kinds);
  void begin_drain();
  // Rows whose results are known already: they enter their window and probe nothing.
  void begin_refill(std::size_t stream, const ArrowSchema& schema, const ArrowArray& array,
                    const std::uint8_t* kinds);
  // Nothing came, but settings may have changed.
  void begin_poll();

  // Goes on until nothing more can be done, a control time has come, or so many candidates or units of work
  // are there.
  Stop run(std::size_t max_pairs, double max_units);

  [[nodiscard]] const Pending& pending() const { return pending_; }
  // Judges all pending candidates; null: all are results.
  void accept(const bool* kept);

  // What happened since the last look. Requires: pending candidates were accepted.
  [[nodiscard]] Period take_period();
  // The same while it goes on.
  [[nodiscard]] const Period& period() const { return period_; }
  // Throws ConfigError unless the plan fits the window that `stream` probes.
  void set_plan(std::size_t stream, DirectionPlan plan);
  [[nodiscard]] const DirectionPlan& plan(std::size_t stream) const { return plans_[stream]; }
  // How far the caller knows the join to be behind its input, beyond what waits here.
  void set_lag(double seconds) { lag_s_ = seconds; }
  // As TwoWayJoin has them, from the next change on.
  void set_lateness(std::size_t stream, Duration lateness) { sides_[stream]->lateness = lateness; }
  void set_idle(std::size_t stream, bool idle) { sides_[stream]->idle = idle; }
  // A server in stream time is always synchronised.
  void set_synchronised(bool synchronised) {
    if (std::isinf(config_.units_per_second)) config_.synchronised = synchronised;
  }

  // How fast the server is from the next change on.
  void set_speed(double units_per_second) { config_.units_per_second = units_per_second; }
  // The period under way ends where the last row arrived; nothing if it has hardly begun.
  [[nodiscard]] std::optional<Period> end_period();

  // As TwoWayJoin's, between changes only.
  void evict(std::size_t stream, std::size_t rows);
  void note_thinned(std::size_t stream, std::uint64_t rows, std::uint64_t kept, Timestamp first,
                    Timestamp last);
  void forget_unneeded();
  void trim();
  [[nodiscard]] std::size_t waiting_bytes() const;

  void commit(Released& out);
  void roll_back();

  [[nodiscard]] const SelectiveConfig& config() const { return config_; }
  [[nodiscard]] const Side& side(std::size_t stream) const { return *sides_[stream]; }
  [[nodiscard]] const DirectionCounts& direction(std::size_t stream) const {
    return totals_.directions[stream];
  }
  [[nodiscard]] const CellTally& tally(std::size_t stream) const { return totals_.tallies[stream]; }
  [[nodiscard]] std::uint64_t dropped(std::size_t stream) const { return totals_.dropped[stream]; }
  // No row of this stream that is still to be processed is older than this.
  [[nodiscard]] Wide low(std::size_t stream) const;
  [[nodiscard]] std::size_t waiting(std::size_t stream) const;
  // Results that have left, and those that wait for their order.
  [[nodiscard]] std::uint64_t results() const { return totals_.results - hold_.size(); }
  [[nodiscard]] std::size_t held() const { return hold_.size(); }
  [[nodiscard]] std::size_t held_bytes() const { return hold_.bytes(); }
  [[nodiscard]] bool holds(RowId left, RowId right) const { return hold_.holds({left, right}); }
  [[nodiscard]] const DropWeights& drops() const { return drops_; }
  [[nodiscard]] double units() const { return totals_.units; }
  [[nodiscard]] double seconds() const { return server_.now_s; }
  [[nodiscard]] std::size_t bytes() const;
  [[nodiscard]] RowId first_needed(std::size_t stream);

  void save(ByteWriter& writer) const;
  void load(ByteReader& reader);
  // All that the join knows but its rows: what a new one, refilled with them, needs to go on like this one.
  void save_course(ByteWriter& writer) const;
  void load_course(ByteReader& reader);

 private:
  // Which rows of the change under way are processed: those whose turn it is, none, all, or all without
  // probing.
  enum class Turn : std::uint8_t { kInOrder, kHold, kDrain, kRefill };

  struct Event {
    std::size_t stream;
    double at_s;
    bool is_start;
  };
  struct Server {
    bool has_begun = false;
    Timestamp base = 0;  // seconds are counted from here
    double free_s = 0;   // when the server has done all it was given
    double now_s = 0;    // the last event
    double control_s = 0;
    double gap_s = 0;  // between arrivals of any stream, lately
    double entered_s = 0;
  };
  struct Totals {
    std::array<DirectionCounts, kSides> directions;
    std::array<CellTally, kSides> tallies;
    std::array<std::uint64_t, kSides> dropped = {};
    std::uint64_t results = 0;
    double units = 0;
  };
  // What rounding left over, and where the next slice of a partial cell starts.
  struct Rest {
    std::vector<double> allowance;  // by type
    std::uint64_t rotation = 0;
    std::uint64_t samples = 0;  // drawn so far
    double hazard = -1;         // until the next sample; below 0: not drawn yet
    Door door;
  };
  // What a probe may do, given how full the input buffer is.
  struct Leave {
    double share;  // of its plan
    double units;  // at most
    double price;  // by which the threshold of scores is multiplied
  };
  struct Range {
    Seq lo;
    Seq hi;
    bool is_planned;
    std::uint32_t sample;
  };
  // What a plan leaves out of one cell.
  struct Piece {
    Seq lo;
    Seq hi;
    std::uint32_t cell;
  };
  // The row that probes.
  struct Probe {
    std::size_t stream;
    Seq row;
    std::uint8_t type;
    std::int64_t now;  // its place, from which the other window's cells are counted
    double used_s;     // of the server's room, when it began
  };
  struct Before {
    Timestamp watermark = 0;
    Timestamp newest = 0;
    bool ended = false;
    SideCounts counts;
    Seq window_end = 0;
    Seq stage_end = 0;
    Seq scores_first = 0;
    bool idle = false;
  };
  // All that a change may alter and that is small enough to be copied.
  struct Small {
    Server server;
    Totals totals;
    Period period;
    std::array<DirectionPlan, kSides> plans;
    std::array<Rest, kSides> rests;
  };

  void begin(Turn turn);
  template <class Change>
  void change(Turn turn, Change apply);
  void take_batch(std::size_t stream, const ArrowSchema& schema, const ArrowArray& array,
                  std::optional<Timestamp> at, const Timestamp* arrivals, const std::uint8_t* kinds);
  void follow_others();
  void fill_lanes();
  void fill_lane(std::size_t stream);
  void fill_in_time_order();
  void take_waiting(std::size_t stream);
  [[nodiscard]] Seq first_alive(std::size_t stream, Wide other_low) const;
  void release(Released& out);
  void look_for_needed(std::size_t stream);

  // selective_server.cc
  [[nodiscard]] double seconds_at(Timestamp ts) const;
  [[nodiscard]] Wide clock(std::size_t stream) const;
  [[nodiscard]] bool may_enter(std::size_t stream, Timestamp arrival) const;
  [[nodiscard]] bool may_start(double at_s) const;
  [[nodiscard]] std::optional<std::size_t> first_of(bool waiting) const;
  [[nodiscard]] std::optional<Event> next_event();
  void enter(const Event& event);
  [[nodiscard]] double credit_s() const;
  [[nodiscard]] double room_s() const;
  [[nodiscard]] double waited(const Lane& lane, double now_s) const;
  [[nodiscard]] double used_s(double now_s, double waited_s) const;
  [[nodiscard]] double next_control_s(double control_s) const;
  [[nodiscard]] double door_share(std::size_t stream, double used_s) const;
  void start(const Event& event);
  Seq admit(std::size_t stream);
  void admit_all();
  [[nodiscard]] Period next_period(double control_s);
  [[nodiscard]] Leave guard(double used_s) const;
  [[nodiscard]] double units_per_row() const;
  [[nodiscard]] bool may_be_full(std::size_t rows, double used_s) const;
  [[nodiscard]] double chance(std::size_t stream, std::uint64_t number, std::uint64_t salt) const;

  // selective_probe.cc
  double probe(const Probe& probe);
  [[nodiscard]] CellRows reach(const Probe& probe) const;
  [[nodiscard]] std::uint64_t lost_to_memory(const Probe& probe) const;
  void plan_by_fraction(const Probe& probe, Leave leave);
  double plan_by_score(const Probe& probe, Leave leave);
  [[nodiscard]] double cell_cost(std::size_t other, std::size_t cell, double expected) const;
  void join_ranges();
  [[nodiscard]] double sample_share(const Probe& probe, double rows, Leave leave) const;
  [[nodiscard]] bool has_short_samples(const Probe& probe, double rows) const;
  void sample_probe(const Probe& probe, CellRows rows, double share);
  void sample_pieces(const Probe& probe, double share);
  void find_pieces();
  [[nodiscard]] bool counts_rows(std::size_t stream) const {
    return config_.streams[stream].window_rows.has_value();
  }
  double search(const Probe& probe, bool is_incomplete);
  void tally_ranges(const Probe& probe);
  void keep_candidates(const Probe& probe, bool is_incomplete);

  SelectiveConfig config_;
  Bounds bounds_;
  TermSet terms_;
  std::array<std::unique_ptr<Side>, kSides> sides_;
  std::array<std::unique_ptr<Lane>, kSides> lanes_;
  std::array<CellRing, kSides> rings_;
  // Of rows in a window that counts rows: their numbers in their lane, where those that are dropped count
  // too.
  std::array<SlidingArray<std::int64_t>, kSides> numbers_;
  DropWeights drops_;
  HoldBuffer hold_;
  std::array<RowId, kSides> needed_ = {};  // lower bounds of what held results need, from the last look
  std::array<std::uint64_t, kSides> results_at_look_ = {};
  std::array<std::unique_ptr<CellScores>, kSides> scores_;  // of each window; null where cells are not scored
  std::array<SlidingArray<std::uint8_t>, kSides> stage_kinds_;
  std::array<SlidingArray<Timestamp>, kSides> stage_arrivals_;
  Server server_;
  Totals totals_;
  Period period_;
  std::array<DirectionPlan, kSides> plans_;
  std::array<Rest, kSides> rests_;
  double lag_s_ = 0;

  // Rows that were here before this join was refilled with those that are left of them.
  std::array<RowId, kSides> rows_before_ = {};

  std::array<std::uint64_t, kSides> last_due_ = {};  // of the last change

  // The change under way.
  Turn turn_ = Turn::kInOrder;
  std::array<Before, kSides> before_;
  Small small_before_;
  Pending pending_;
  Released released_;
  std::vector<Result> found_;  // where results are ordered

  // The probe under way.
  std::vector<CellRows> cells_;
  std::vector<CellScore> cell_scores_;
  std::vector<double> predicted_;  // matches expected per row of each cell; where cells are scored
  bool is_scored_ = false;
  std::vector<Range> ranges_;
  std::vector<Piece> pieces_;
  std::vector<Seq> request_rows_;
  std::vector<Seq> request_lo_;
  std::vector<Seq> request_hi_;
  std::vector<std::uint32_t> request_found_;
  Pairs pairs_;
};

}  // namespace watersmeet
