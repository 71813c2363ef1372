// What finds the partners of a row in one window: the interface of every index.
//
// An index belongs to one window and reads that window's driver column; the join tells it when rows were
// appended, expired or taken back. It never sees timestamps: the join hands every probe the range of the
// other window's sequence numbers that its window (time, count, slice or probe plan) allows, so exact expiry
// at the window edge, count windows and selective processing are all the same to it.
//
// Invariants
//   (1) A probe reports each partner in [lo, hi) that satisfies the driver term exactly once, and no other.
//   (2) Rows whose `joinable` flag is 0 (null key or set) are never reported.
//   (3) Dead rows (below the window's begin()) are never reported, whether or not expire_before was called.
//   (4) The work of a metered run does not depend on which rows outside its ranges the window holds.
// Threads    one writer. A probe uses the scratch memory of its run's lane, so each lane serves one prober; several
//            lanes may probe at once after prepare() for all their requests, until the next change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "watersmeet/base/lanes.h"
#include "watersmeet/base/types.h"
#include "watersmeet/base/uninitialized.h"
#include "watersmeet/predicate/term.h"
#include "watersmeet/window/window.h"

namespace watersmeet {

// Work done, in the units that budgets and the cost model use.
struct Work {
  std::uint64_t probes = 0;
  std::uint64_t comparisons = 0;  // pairs on which a predicate was evaluated
  std::uint64_t postings = 0;     // posting entries read (bitmap words count as one each)
  std::uint64_t lookups = 0;      // hash or list look-ups

  [[nodiscard]] std::uint64_t units() const { return comparisons + postings + lookups; }
  Work& operator+=(const Work& more) {
    probes += more.probes;
    comparisons += more.comparisons;
    postings += more.postings;
    lookups += more.lookups;
    return *this;
  }
};

// Pairs found, as parallel columns, in the order they were found.
struct Pairs {
  UninitializedVector<Seq> own;
  UninitializedVector<Seq> other;

  [[nodiscard]] std::size_t size() const { return own.size(); }
  void add(Seq own_row, Seq other_row) {
    own.push_back(own_row);
    other.push_back(other_row);
  }
};

// Requests by rows of the own window for partners in the other window. A row may ask several times, each time
// for another range: that is how a probe plan visits single basic windows.
struct ProbeRun {
  const Window* own = nullptr;
  bool own_is_left = true;
  // Request `at` of [0, requests) is made by row rows[at], or by row first + at where `rows` is null.
  Seq first = 0;
  const Seq* rows = nullptr;
  std::size_t requests = 0;
  // Per request, the other window's rows [lo, hi) it may meet.
  const Seq* lo = nullptr;
  const Seq* hi = nullptr;
  // Per request, how many pairs it found; not written if null.
  std::uint32_t* found = nullptr;
  // Stop early, after a whole request, once this many pairs were added or this much work was done.
  std::size_t max_pairs = SIZE_MAX;
  std::uint64_t max_work = UINT64_MAX;
  // The work decides what is probed next, so it must follow from the rows and ranges alone: rows that the window
  // still keeps, or has already, must not show in it.
  bool is_metered = false;
  // Whose scratch memory the probe uses.
  std::size_t lane = 0;

  [[nodiscard]] Seq row(std::size_t at) const { return rows == nullptr ? first + at : rows[at]; }
};

class Index {
 public:
  virtual ~Index() = default;

  // Takes in the window's rows [first, last), already appended to its columns.
  virtual void append(Seq first, Seq last) = 0;
  // The same, on several lanes where that pays; the index is the same afterwards.
  virtual void append_on(Lanes& lanes, Seq first, Seq last) {
    (void)lanes;
    append(first, last);
  }
  // The window is about to drop rows before `row` (their columns can still be read).
  virtual void expire_before(Seq row) = 0;
  // The window is about to take back rows from `row` on (their columns can still be read).
  virtual void truncate(Seq row) = 0;
  // Does what probes of these requests would change in the index, so that `lanes` lanes can make them at once.
  virtual void prepare(const ProbeRun& run, std::size_t lanes) {
    (void)run;
    (void)lanes;
  }
  // Adds to `pairs` the partners asked for, request by request; those of one request in ascending order.
  // Returns: how many requests were served (run.requests unless a limit stopped it early).
  virtual std::size_t probe(const ProbeRun& run, Pairs& pairs, Work& work) = 0;

  // True if a request is one look-up, whatever its range.
  [[nodiscard]] virtual bool looks_up() const { return false; }
  [[nodiscard]] virtual std::size_t bytes() const = 0;
  // Gives back memory that stands empty.
  virtual void trim() {}
};

enum class IndexKind : std::uint8_t { kScan, kHash, kInverted, kInvertedById };

// How the inverted index merges posting lists; kAuto picks per probe by cost.
enum class MergeKind : std::uint8_t { kAuto, kHeap, kCount, kBitmap };

// Each maker binds the index to column 0 (the driver) of `window`, which must outlive it.
std::unique_ptr<Index> make_scan_index(const Window& window, const Term& term);
std::unique_ptr<Index> make_hash_index(const Window& window, const Term& term);  // equal and band
std::unique_ptr<Index> make_inverted_index(const Window& window, const Term& term, MergeKind merge);
std::unique_ptr<Index> make_inverted_by_id_index(const Window& window, const Term& term);
// Every row in range matches: the window alone is the predicate.
std::unique_ptr<Index> make_cross_index(const Window& window);

}  // namespace watersmeet
