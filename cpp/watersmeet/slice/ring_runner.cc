#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "watersmeet/base/hash.h"
#include "watersmeet/slice/boundaries.h"
#include "watersmeet/slice/failure.h"
#include "watersmeet/slice/regularly.h"
#include "watersmeet/slice/runner.h"
#include "watersmeet/slice/spsc_queue.h"
#include "watersmeet/slice/worker_pool.h"

namespace watersmeet {
namespace {

// Messages handled before candidates are settled: more make larger blocks, fewer let the next slice start
// earlier. Half of the cycles in flight at most, so that the head has some to go on with while the others are on
// their way.
constexpr std::size_t kBurst = 64;

// Numbers for tests: a splitmix sequence.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  std::uint64_t below(std::uint64_t bound) {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t word = state_;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
    word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
    return (word ^ (word >> 31)) % bound;
  }

 private:
  std::uint64_t state_;
};

class QueueOutlet final : public Outlet {
 public:
  explicit QueueOutlet(SpscQueue<Message>& queue) : queue_(queue) {}
  void send(const Message& message) override { queue_.push(message); }

 private:
  SpscQueue<Message>& queue_;
};

class RingRunner final : public Runner {
 public:
  explicit RingRunner(const SliceConfig& config)
      : config_(config), boundaries_(config.slices, lengths_of(config)) {
    rebuild(std::vector<std::vector<RowRange>>(config.slices, std::vector<RowRange>(config.streams.size())));
  }

  void execute(const Run& run, const std::function<void()>& poll, std::vector<Found>& results) override {
    if (boundaries_.is_moving() && boundaries_.advance(run.cycles.front().newest, run.window_rows)) settle();
    const auto before = held();
    for (std::size_t place = 0; place < nodes_.size(); ++place) {
      nodes_[place].begin(run, *outlets_[place], probers_.of(place), nodes_.size(),
                          boundaries_.bounds(place, run.window_rows));
    }
    done_.store(false, std::memory_order_seq_cst);
    if (config_.schedule_seed.has_value()) {
      run_in_drawn_order();
    } else if (nodes_.size() == 1) {
      work(0, poll);
    } else {
      run_on_threads(poll);
    }
    const bool failed = failure_.happened();
    for (const SliceNode& node : nodes_) messages_ += node.messages();
    for (SliceNode& node : nodes_) node.end();
    if (failed) {
      put_back(before);
      connect();  // messages under way are gone with their links
      failure_.rethrow();
    }
    const std::size_t from = results.size();
    for (SliceNode& node : nodes_)
      results.insert(results.end(), node.results().begin(), node.results().end());
    sort_results(results, from, run.streams());
  }

  void rouse() override {
    if (pool_ != nullptr) pool_->rouse();
  }

  void resize(std::size_t slices, Relocation relocation) override {
    settle();
    const std::vector<bool> changed = places_changed(nodes_.size(), slices);
    const bool growing = slices > nodes_.size();
    if (growing) rebuild(with_new_places(changed));
    if (relocation == Relocation::kPassive) {
      boundaries_.move_towards(slices);
      return;
    }
    const auto windows = whole_windows();
    const auto now = held();
    boundaries_.cut_evenly(slices);
    if (!growing) rebuild(std::vector<std::vector<RowRange>>(slices, std::vector<RowRange>(windows.size())));
    place(windows);
    note_flows(now, growing ? std::vector<bool>(changed.size()) : changed);
  }

  [[nodiscard]] std::size_t slices() const override { return nodes_.size(); }

  void place(const std::vector<RowRange>& windows) override {
    std::vector<RowRange> left = windows;
    for (std::size_t place = 0; place < nodes_.size(); ++place) {
      std::vector<RowRange> cut;
      for (std::size_t stream = 0; stream < windows.size(); ++stream) {
        // The head holds the newest rows.
        const RowRange& window = windows[stream];
        const Seq first = window.last - boundaries_.rows_to_end(place, stream, window.size());
        cut.push_back({first, left[stream].last});
        left[stream].last = first;
      }
      nodes_[place].hold(std::move(cut));
    }
  }

  [[nodiscard]] std::vector<std::vector<RowRange>> held() const override {
    std::vector<std::vector<RowRange>> all;
    for (const SliceNode& node : nodes_) all.push_back(node.held());
    return all;
  }

  void put_back(const std::vector<std::vector<RowRange>>& held) override {
    for (std::size_t place = 0; place < nodes_.size(); ++place) nodes_[place].hold(held[place]);
  }

  void add_to(SliceStatistics& statistics) const override {
    statistics.held = held();
    statistics.messages += messages_;
    statistics.flows = flows_;
    probers_.add_to(statistics, nodes_.size());
  }
  [[nodiscard]] std::vector<DirectionTally> tallies() const override {
    return probers_.tallies(nodes_.size());
  }

 private:
  void connect() {
    inboxes_.clear();
    outlets_.clear();
    for (std::size_t place = 0; place < nodes_.size(); ++place) {
      inboxes_.push_back(std::make_unique<SpscQueue<Message>>());
    }
    for (std::size_t place = 0; place < nodes_.size(); ++place) {
      outlets_.push_back(std::make_unique<QueueOutlet>(*inboxes_[(place + 1) % nodes_.size()]));
    }
  }

  [[nodiscard]] static std::vector<std::size_t> lengths_of(const SliceConfig& config) {
    std::vector<std::size_t> lengths;
    for (const SliceStream& stream : config.streams) lengths.push_back(stream.slices);
    return lengths;
  }

  // A ring of nodes that hold these rows.
  void rebuild(const std::vector<std::vector<RowRange>>& held) {
    pool_.reset();
    nodes_.clear();
    for (const auto& ranges : held) {
      nodes_.emplace_back(nodes_.size(), config_.streams.size());
      nodes_.back().hold(ranges);
    }
    connect();
  }

  // What nodes hold, with empty ones between them.
  [[nodiscard]] std::vector<std::vector<RowRange>> with_new_places(const std::vector<bool>& added) const {
    std::vector<std::vector<RowRange>> all;
    std::size_t next = 0;
    for (const bool is_new : added) {
      all.push_back(is_new ? all.back() : nodes_[next++].held());
      if (!is_new) continue;
      for (RowRange& range : all.back()) range.last = range.first;
    }
    return all;
  }

  // Ends a passive change: places that leave are gone, and the few rows that they may still have are their
  // neighbour's, towards the head.
  void settle() {
    const std::vector<bool> leaving = boundaries_.leaving();
    boundaries_.settle();
    if (boundaries_.places() == nodes_.size()) return;
    std::vector<std::vector<RowRange>> kept;
    for (std::size_t place = 0; place < nodes_.size(); ++place) {
      const std::vector<RowRange>& held = nodes_[place].held();
      if (!leaving[place]) {
        kept.push_back(held);
        continue;
      }
      for (std::size_t stream = 0; stream < held.size(); ++stream)
        if (held[stream].size() > 0) kept.back()[stream].first = held[stream].first;
    }
    rebuild(kept);
  }

  // `lacks`: places of the longer ring that are not there any more.
  void note_flows(const std::vector<std::vector<RowRange>>& before, const std::vector<bool>& lacks) {
    flows_.assign(before.size() - 1, 0);
    std::size_t after = 0;
    for (std::size_t place = 0; place + 1 < before.size(); ++place) {
      if (place > 0 && !lacks[place]) ++after;
      for (std::size_t stream = 0; stream < before[place].size(); ++stream)
        flows_[place] += static_cast<std::int64_t>(nodes_[after].held()[stream].first) -
                         static_cast<std::int64_t>(before[place][stream].first);
    }
  }

  [[nodiscard]] std::vector<RowRange> whole_windows() const {
    std::vector<RowRange> windows;
    for (std::size_t stream = 0; stream < config_.streams.size(); ++stream) {
      const RowRange& head = nodes_.front().held()[stream];
      Seq first = head.first;
      for (const SliceNode& node : nodes_) {
        if (node.held()[stream].size() > 0) first = std::min(first, node.held()[stream].first);
      }
      windows.push_back({first, head.last});
    }
    return windows;
  }

  void run_on_threads(const std::function<void()>& poll) {
    if (pool_ == nullptr) pool_ = std::make_unique<WorkerPool>(nodes_.size());
    pool_->run([this, &poll](std::size_t place) { work(place, place == 0 ? poll : nullptr); },
               [this, &poll] {
                 if (!poll || failure_.happened()) return;
                 try {
                   poll();
                 } catch (...) {
                   fail();
                 }
               });
  }

  void work(std::size_t place, const std::function<void()>& poll) {
    SliceNode& node = nodes_[place];
    SpscQueue<Message>& inbox = *inboxes_[place];
    Dice dice(config_.delay_seed.value_or(0) + place);
    const std::size_t burst = std::clamp<std::size_t>(config_.interleave / 2, 1, kBurst);
    const auto patience = pool_ == nullptr ? std::chrono::nanoseconds(0) : pool_->patience();
    const auto over = [this] { return done_.load(std::memory_order_seq_cst) || failure_.happened(); };
    try {
      Regularly polls(poll);
      while (!over()) {
        bool idle = true;
        Message message;
        for (std::size_t handled = 0; handled < burst && !node.wants_settling() && inbox.pop(message);
             ++handled) {
          if (config_.delay_seed.has_value()) pause(dice);
          node.handle(message);
          idle = false;
        }
        for (std::size_t admitted = 0;
             place == 0 && admitted < burst && !node.wants_settling() && node.admit(); ++admitted) {
          idle = false;
        }
        node.settle();
        if (place == 0 && node.is_done()) finish();
        if (idle) inbox.wait(patience, over);
        polls.call();
      }
    } catch (...) {
      fail();
    }
  }

  void finish() {
    done_.store(true, std::memory_order_seq_cst);
    for (auto& inbox : inboxes_) inbox->wake();
  }

  void fail() {
    failure_.keep(std::current_exception());
    for (auto& inbox : inboxes_) inbox->wake();
  }

  static void pause(Dice& dice) {
    for (std::uint64_t left = dice.below(8); left > 4; --left) std::this_thread::yield();
  }

  // All nodes on this thread: which one moves next, and how far, is drawn.
  void run_in_drawn_order() {
    Dice dice(*config_.schedule_seed);
    try {
      while (!nodes_[0].is_done()) {
        const std::size_t place = dice.below(nodes_.size());
        SliceNode& node = nodes_[place];
        Message message;
        for (std::uint64_t left = dice.below(4); left > 0 && inboxes_[place]->pop(message); --left)
          node.handle(message);
        if (place == 0 && dice.below(2) == 0) (void)node.admit();
        if (dice.below(2) == 0 || node.wants_settling()) node.settle();
      }
    } catch (...) {
      fail();
    }
  }

  const SliceConfig& config_;
  std::vector<SliceNode> nodes_;
  Boundaries boundaries_;
  std::vector<std::int64_t> flows_;
  std::vector<std::unique_ptr<SpscQueue<Message>>> inboxes_;
  std::vector<std::unique_ptr<QueueOutlet>> outlets_;
  std::unique_ptr<WorkerPool> pool_;
  std::atomic<bool> done_{false};
  Failure failure_;
  Probers probers_;
  std::uint64_t messages_ = 0;
};

}  // namespace

std::unique_ptr<Runner> make_ring_runner(const SliceConfig& config) {
  return std::make_unique<RingRunner>(config);
}

Prober& Probers::of(std::size_t slice) {
  while (probers_.size() <= slice) probers_.push_back(std::make_unique<Prober>(probers_.size()));
  return *probers_[slice];
}

void Probers::add_to(SliceStatistics& statistics, std::size_t slices) const {
  statistics.compared.resize(std::max(slices, probers_.size()), 0);
  for (std::size_t slice = 0; slice < probers_.size(); ++slice) {
    const Prober::Counts& counts = probers_[slice]->counts();
    for (std::size_t members = 0; members < counts.size(); ++members) {
      for (std::size_t other = 0; other < kMostStreams; ++other) {
        const StepCount& more = counts[members][other];
        StepCount& all = statistics.steps[members][other];
        statistics.compared[slice] += more.compared;
        all.due += more.due;
        all.compared += more.compared;
        all.kept += more.kept;
      }
    }
  }
}

std::vector<DirectionTally> Probers::tallies(std::size_t slices) const {
  std::vector<DirectionTally> all = probers_[0]->tallies();
  for (std::size_t slice = 1; slice < slices; ++slice) {
    const std::vector<DirectionTally>& more = probers_[slice]->tallies();
    for (std::size_t at = 0; at < all.size(); ++at) all[at].add(more[at]);
  }
  return all;
}

void sort_results(std::vector<Found>& results, std::size_t from, std::size_t streams) {
  const auto before = [streams](const Found& one, const Found& two) {
    if (one.cycle != two.cycle) return one.cycle < two.cycle;
    return std::lexicographical_compare(
        one.rows.begin(), one.rows.begin() + static_cast<std::ptrdiff_t>(streams), two.rows.begin(),
        two.rows.begin() + static_cast<std::ptrdiff_t>(streams));
  };
  std::sort(results.begin() + static_cast<std::ptrdiff_t>(from), results.end(), before);
}

}  // namespace watersmeet
