// A join of several streams whose windows are cut into slices.
//
// Rows of all streams are processed in one order, by (timestamp, stream, arrival): a row waits until no
// earlier one can come. Each is a cycle (cycle.h) that meets the rows in the windows at its time. So the
// results do not depend on how pushes interleave, nor on slices, threads or orderings; they leave in the
// order of the rows that complete them.
//
// Invariants
//   (1) Rows below processed(stream) are or were in the window; rows from there on wait.
//   (2) A call that throws changes nothing.
// Errors     OrderError, SchemaError for bad batches; what a check throws.
// Threads    one caller at a time; request_resize() from any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "watersmeet/slice/config.h"
#include "watersmeet/slice/cycle.h"
#include "watersmeet/slice/runner.h"
#include "watersmeet/slice/shedding.h"
#include "watersmeet/slice/store.h"

namespace watersmeet {

// Per stream, the row numbers of the results' members; then, if config.ordered, the results' timestamps.
using SliceResults = std::vector<std::vector<std::int64_t>>;

class SliceJoin {
 public:
  // Throws ConfigError for a number of streams or slices that it cannot have.
  explicit SliceJoin(SliceConfig config);

  // What outside code a call may run: checks of candidates, a poll that may throw to stop, and, where the
  // join sheds, a look at a control period that has ended, which may set plans and orderings.
  struct Callbacks {
    Check check;
    std::function<void()> poll;
    std::function<void(const SliceShedding::Period&)> control;
  };

  // No row of `stream` older than `to` will come; without `to`, no row at all.
  struct Promise {
    std::size_t stream = 0;
    std::optional<Timestamp> to;
  };

  struct Batch {
    std::size_t stream = 0;
    const ArrowSchema* schema = nullptr;
    const ArrowArray* array = nullptr;
  };

  // Takes batches of streams' rows, and promises that hold from then on.
  [[nodiscard]] SliceResults take(const std::vector<Batch>& batches, const std::vector<Promise>& promises,
                                  const Callbacks& callbacks);
  [[nodiscard]] SliceResults push(std::size_t stream, const ArrowSchema& schema, const ArrowArray& array,
                                  const Callbacks& callbacks);
  [[nodiscard]] SliceResults advance(std::size_t stream, Timestamp to, const Callbacks& callbacks);
  // Nothing will come any more.
  [[nodiscard]] SliceResults finish(const Callbacks& callbacks);

  // Whether rows are processed by time (Sync-Filter), or as they come (Filter-Order). Only a join that is
  // `ordered` and has windows of time can do the latter.
  void set_synchronised(bool synchronised);
  // No result still to be found is older than this; none if none can be found any more.
  [[nodiscard]] std::optional<Timestamp> low() const;

  // From the next run of cycles on, also while a push is under way.
  void request_resize(std::size_t slices, Relocation relocation);
  void set_orderings(std::vector<std::vector<std::size_t>> orderings);

  // Sheds from now on. Only a join that processes rows by time can.
  void shed(SliceSheddingConfig config);
  [[nodiscard]] const std::optional<SliceShedding>& shedding() const { return shedding_; }
  void set_plans(std::vector<ProbePlan> plans) { shedding_.value().set_plans(std::move(plans)); }
  [[nodiscard]] std::string shedding_state() const;
  void load_shedding_state(std::string_view state);

  // Into a join that is still empty: a batch whose first row had number `first`, of which those below
  // `processed` were processed and those from `oldest` on were in the window.
  struct Restored {
    Seq first = 0;
    Seq oldest = 0;
    Seq processed = 0;
    Timestamp watermark = kMinTimestamp;
    bool ended = false;
  };
  void restore(std::size_t stream, const ArrowSchema& schema, const ArrowArray& array, const Restored& state);
  [[nodiscard]] Restored state_of(std::size_t stream) const;

  [[nodiscard]] std::size_t slices() const { return runner_->slices(); }
  [[nodiscard]] std::size_t waiting(std::size_t stream) const;
  [[nodiscard]] std::uint64_t results() const { return results_; }
  [[nodiscard]] SliceStatistics statistics() const;
  [[nodiscard]] const SliceConfig& config() const { return config_; }
  [[nodiscard]] std::size_t bytes() const { return store_.bytes(); }
  [[nodiscard]] const std::vector<std::vector<std::size_t>>& orderings() const { return orderings_; }

 private:
  struct Stream {
    Seq processed = 0;
    Seq oldest = 0;  // the first row that a row processed next may meet
    Timestamp watermark = kMinTimestamp;
    bool ended = false;
  };

  [[nodiscard]] bool releases(const std::vector<Batch>& batches) const;
  template <class Change>
  SliceResults change(const Callbacks& callbacks, Change apply);
  void process(const Callbacks& callbacks, std::vector<Found>& found, SliceResults& results);
  [[nodiscard]] std::optional<std::size_t> next_stream() const;
  [[nodiscard]] bool may_precede(std::size_t other, std::size_t stream, Timestamp ts) const;
  [[nodiscard]] Timestamp low_of(std::size_t stream) const;
  void keep(const Promise& promise);
  void control(const Callbacks& callbacks);
  void collect(Run& run);
  void expire(Timestamp now);
  void resize_if_asked();
  [[nodiscard]] std::vector<RowRange> windows() const;

  const SliceConfig config_;
  SliceStore store_;
  std::vector<Stream> streams_;
  std::vector<std::vector<std::size_t>> orderings_;
  std::unique_ptr<Runner> runner_;
  std::uint64_t results_ = 0;
  const bool two_sided_;  // whether rows may be processed as they come
  bool synchronised_ = true;
  std::optional<SliceShedding> shedding_;

  std::mutex asked_mutex_;
  std::optional<std::pair<std::size_t, Relocation>> asked_;
};

}  // namespace watersmeet
