#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "watersmeet/base/hash.h"
#include "watersmeet/slice/failure.h"
#include "watersmeet/slice/runner.h"
#include "watersmeet/slice/spsc_queue.h"
#include "watersmeet/slice/worker_pool.h"

namespace watersmeet {
namespace {

// Messages handled before candidates are settled: more make larger blocks, fewer let the next slice start
// earlier.
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
  explicit RingRunner(const SliceConfig& config) : config_(config) {
    for (std::size_t place = 0; place < config.slices; ++place)
      nodes_.emplace_back(place, config.streams.size());
    active_ = config.slices;
    connect();
  }

  void execute(const Run& run, const std::function<void()>& poll, std::vector<Found>& results) override {
    drop_retired();
    const auto before = held();
    for (std::size_t place = 0; place < nodes_.size(); ++place) {
      nodes_[place].begin(run, *outlets_[place], probers_.of(place), nodes_.size(), active_);
    }
    done_.store(false, std::memory_order_seq_cst);
    if (config_.schedule_seed.has_value()) {
      run_in_drawn_order();
    } else if (nodes_.size() == 1) {
      work(0);
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

  void resize(std::size_t slices, Relocation relocation) override {
    if (relocation == Relocation::kAggressive) {
      std::vector<RowRange> windows = whole_windows();
      pool_.reset();
      nodes_.clear();
      for (std::size_t place = 0; place < slices; ++place) nodes_.emplace_back(place, config_.streams.size());
      place(windows);
    } else if (slices > active_) {
      // Nodes that are leaving stay; new ones follow, empty, and fill as rows move on.
      pool_.reset();
      const std::vector<RowRange> end = nodes_.back().held();
      while (nodes_.size() < slices) {
        nodes_.emplace_back(nodes_.size(), config_.streams.size());
        std::vector<RowRange> empty = end;
        for (RowRange& range : empty) range.last = range.first;
        nodes_.back().hold(std::move(empty));
      }
    }
    active_ = slices;
    connect();
  }

  [[nodiscard]] std::size_t slices() const override { return nodes_.size(); }
  [[nodiscard]] std::size_t active() const override { return active_; }

  void place(const std::vector<RowRange>& windows) override {
    const std::uint64_t count = nodes_.size();
    for (std::uint64_t place = 0; place < count; ++place) {
      std::vector<RowRange> cut;
      for (const RowRange& window : windows) {
        // The head holds the newest rows.
        cut.push_back({window.first + window.size() * (count - 1 - place) / count,
                       window.first + window.size() * (count - place) / count});
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

  // A slice that takes no rows any more leaves when its last row has expired.
  void drop_retired() {
    bool changed = false;
    while (nodes_.size() > active_ && is_empty(nodes_.back())) {
      nodes_.pop_back();
      changed = true;
    }
    if (!changed) return;
    pool_.reset();
    connect();
  }

  [[nodiscard]] static bool is_empty(const SliceNode& node) {
    return std::all_of(node.held().begin(), node.held().end(),
                       [](const RowRange& range) { return range.size() == 0; });
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
    pool_->run([this](std::size_t place) { work(place); },
               [this, &poll] {
                 if (!poll || failure_.happened()) return;
                 try {
                   poll();
                 } catch (...) {
                   fail();
                 }
               });
  }

  void work(std::size_t place) {
    SliceNode& node = nodes_[place];
    SpscQueue<Message>& inbox = *inboxes_[place];
    Dice dice(config_.delay_seed.value_or(0) + place);
    const auto over = [this] { return done_.load(std::memory_order_seq_cst) || failure_.happened(); };
    try {
      while (!over()) {
        bool idle = true;
        Message message;
        for (std::size_t handled = 0; handled < kBurst && !node.wants_settling() && inbox.pop(message);
             ++handled) {
          if (config_.delay_seed.has_value()) pause(dice);
          node.handle(message);
          idle = false;
        }
        while (place == 0 && !node.wants_settling() && node.admit()) idle = false;
        node.settle();
        if (place == 0 && node.is_done()) finish();
        if (idle) inbox.wait(over);
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
  std::size_t active_ = 1;
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
