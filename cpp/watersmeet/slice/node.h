// One slice of a ring: the rows it holds, and what it does with each message ([PSP] figure 3 and 5, SPEC P6,
// P7).
//
// The rows of a stream that a slice holds are a range of row numbers, since rows enter and leave in order; so
// is what a live cycle may see of them (StateStart and StateEnd). A row that has moved on is still seen by
// the cycles that came before: the delayed purge of PSP-I costs nothing here, as rows are stored once for all
// slices.
//
// Invariants
//   (1) held(s) of slice i+1 ends where held(s) of slice i begins, once messages between them have arrived.
//   (2) A partial result is sent on before it probes, and everything it leads to before the END that follows
//   it. (3) Between runs no cycle is live.
// Threads    one at a time; which one may change between runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "watersmeet/slice/cycle.h"
#include "watersmeet/slice/prober.h"

namespace watersmeet {

// Where a node sends to.
class Outlet {
 public:
  virtual ~Outlet() = default;
  virtual void send(const Message& message) = 0;
};

struct RowRange {
  Seq first = 0;
  Seq last = 0;
  [[nodiscard]] std::uint64_t size() const { return last - first; }
};

class SliceNode {
 public:
  SliceNode(std::size_t place, std::size_t streams) : place_(place), held_(streams) {}

  // Before a run: `slices` nodes form the ring; this one keeps so many rows of each stream before it hands the
  // oldest on (Boundaries).
  void begin(const Run& run, Outlet& next, Prober& prober, std::size_t slices, const RowSet& bounds);
  // After a run, or a failure: forgets live cycles and requests, keeps the rows.
  void end();

  // Head only: starts a cycle if one is left and fewer than `interleave` are in flight.
  [[nodiscard]] bool admit();
  [[nodiscard]] bool can_admit() const;
  [[nodiscard]] bool is_done() const { return ended_ == run_->cycles.size(); }

  void handle(const Message& message);
  // Serves the requests collected and then sends the ENDs that had to wait for them.
  void settle();
  [[nodiscard]] bool wants_settling() const { return prober_->is_full(); }

  [[nodiscard]] const std::vector<RowRange>& held() const { return held_; }
  void hold(std::vector<RowRange> held) { held_ = std::move(held); }
  [[nodiscard]] std::vector<Found>& results() { return results_; }
  [[nodiscard]] std::uint64_t messages() const { return messages_; }

 private:
  void probe_row(const Message& message);
  void hand_on(const Cycle& cycle, RowSet& moved);
  void extend(const Found& partial, std::size_t step);
  void emit(const Found& found, std::size_t step);
  void pass_end(const Message& message);
  void send(const Message& message);
  [[nodiscard]] std::vector<RowRange>& live(std::uint32_t cycle) { return live_[cycle % live_.size()]; }
  [[nodiscard]] std::uint8_t rounds() const { return static_cast<std::uint8_t>(run_->streams() - 1); }

  std::size_t place_;
  std::vector<RowRange> held_;  // per stream

  // Of the run.
  const Run* run_ = nullptr;
  Outlet* next_ = nullptr;
  std::size_t slices_ = 1;
  RowSet bounds_ = {};
  std::vector<std::vector<RowRange>> live_;  // per cycle in flight, per stream, what it sees here
  Prober* prober_ = nullptr;
  std::vector<Message> waiting_ends_;
  std::vector<Found> results_;
  std::uint32_t admitted_ = 0;
  std::uint32_t ended_ = 0;
  std::uint64_t messages_ = 0;
};

}  // namespace watersmeet
