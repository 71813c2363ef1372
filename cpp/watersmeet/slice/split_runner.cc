#include <algorithm>
#include <atomic>
#include <utility>

#include "watersmeet/slice/failure.h"
#include "watersmeet/slice/regularly.h"
#include "watersmeet/slice/runner.h"
#include "watersmeet/slice/worker_pool.h"

namespace watersmeet {
namespace {

// Where a row's cost goes by the rows that it meets, shares are cut into so many pieces, which go to whoever is
// free: some pairs take longer than others, and so do some cores. An index is asked once per piece, and a function
// outside the core likes long blocks, so there a share stays whole.
constexpr std::size_t kPieces = 4;

[[nodiscard]] std::size_t pieces_of(const SliceConfig& config) {
  const bool by_pair =
      config.checks.empty() &&
      std::all_of(config.terms.begin(), config.terms.end(), [](const SliceTerm& each) {
        return each.term.kind == TermKind::kDistance || each.term.kind == TermKind::kCompiled;
      });
  return by_pair ? kPieces : 1;
}

class SplitRunner final : public Runner {
 public:
  explicit SplitRunner(const SliceConfig& config) : config_(config), slices_(config.slices) {}

  void execute(const Run& run, const std::function<void()>& poll, std::vector<Found>& results) override {
    for (std::size_t slice = 0; slice < slices_; ++slice) probers_.of(slice).begin(run);
    found_.assign(slices_, {});
    shares_ = slices_ == 1 ? 1 : slices_ * pieces_of(config_);
    next_.store(0);
    if (slices_ == 1 || config_.schedule_seed.has_value()) {
      for (std::size_t slice = 0; slice < slices_; ++slice) work(run, slice, poll);
    } else {
      run_on_threads(run, poll);
    }
    failure_.rethrow();
    const std::size_t from = results.size();
    for (const auto& found : found_) results.insert(results.end(), found.begin(), found.end());
    sort_results(results, from, run.streams());
  }

  void rouse() override {
    if (pool_ != nullptr) pool_->rouse();
  }

  void resize(std::size_t slices, Relocation) override {
    pool_.reset();
    slices_ = slices;
  }
  [[nodiscard]] std::size_t slices() const override { return slices_; }

  // A row's slice follows from its number: there is nothing to place.
  void place(const std::vector<RowRange>&) override {}
  [[nodiscard]] std::vector<std::vector<RowRange>> held() const override { return {}; }
  void put_back(const std::vector<std::vector<RowRange>>&) override {}

  void add_to(SliceStatistics& statistics) const override { probers_.add_to(statistics, slices_); }
  [[nodiscard]] std::vector<DirectionTally> tallies() const override { return probers_.tallies(slices_); }

 private:
  void run_on_threads(const Run& run, const std::function<void()>& poll) {
    if (pool_ == nullptr) pool_ = std::make_unique<WorkerPool>(slices_);
    pool_->run([this, &run, &poll](std::size_t slice) { work(run, slice, slice == 0 ? poll : nullptr); },
               [this, &poll] {
                 if (!poll || failure_.happened()) return;
                 try {
                   poll();
                 } catch (...) {
                   failure_.keep(std::current_exception());
                 }
               });
  }

  // Cycles are taken in groups, so that the requests of several are served together. Which slice does which share
  // of a group does not show: results are put in order, and counts added up.
  void work(const Run& run, std::size_t slice, const std::function<void()>& poll) {
    try {
      Regularly polls(poll);
      const auto cycles = static_cast<std::uint32_t>(run.cycles.size());
      const auto group = static_cast<std::uint32_t>(run.config->interleave);
      const std::size_t groups = (cycles + std::size_t{group} - 1) / group;
      while (!failure_.happened()) {
        const std::size_t at = next_.fetch_add(1);
        if (at >= groups * shares_) return;
        const auto first = static_cast<std::uint32_t>(at / shares_ * group);
        follow(run, slice, at % shares_, first, std::min(cycles - first, group) + first);
        polls.call();
      }
    } catch (...) {
      failure_.keep(std::current_exception());
    }
  }

  void follow(const Run& run, std::size_t slice, std::size_t share, std::uint32_t first, std::uint32_t last) {
    Prober& prober = probers_.of(slice);
    std::vector<Found> partials;
    for (std::uint32_t at = first; at < last; ++at) {
      const Cycle& cycle = run.cycles[at];
      if (run.store->joinable(cycle.stream, cycle.row)) partials.push_back(first_partial(run, at));
    }
    std::vector<Found> extended;
    const auto keep = [&extended](const Found& found) { extended.push_back(found); };
    for (std::size_t step = 0; step + 1 < run.streams(); ++step) {
      extended.clear();
      for (const Found& partial : partials) {
        const Cycle& cycle = run.cycles[partial.cycle];
        const std::size_t other = run.orderings[cycle.stream][step];
        Seq first = cycle.oldest[other];
        Seq last = cycle.newest[other];
        if (step == 0) cut(first, last, share);
        prober.ask(partial, other, first, last);
        if (prober.is_full()) prober.settle(keep);
      }
      if (prober.has_requests()) prober.settle(keep);
      partials.swap(extended);
    }
    found_[slice].insert(found_[slice].end(), partials.begin(), partials.end());
  }

  // The first window is shared out in equal parts; what follows from a row stays with its slice.
  void cut(Seq& first, Seq& last, std::size_t share) const {
    const Seq size = last - first;
    last = first + size * (share + 1) / shares_;
    first = first + size * share / shares_;
  }

  const SliceConfig& config_;
  std::size_t slices_;
  Probers probers_;
  std::vector<std::vector<Found>> found_;
  std::size_t shares_ = 1;            // of what a row may meet
  std::atomic<std::size_t> next_{0};  // share of a group of cycles
  std::unique_ptr<WorkerPool> pool_;
  Failure failure_;
};

}  // namespace

std::unique_ptr<Runner> make_split_runner(const SliceConfig& config) {
  return std::make_unique<SplitRunner>(config);
}

}  // namespace watersmeet
