#include <algorithm>
#include <utility>

#include "watersmeet/slice/failure.h"
#include "watersmeet/slice/runner.h"
#include "watersmeet/slice/worker_pool.h"

namespace watersmeet {
namespace {

class SplitRunner final : public Runner {
 public:
  explicit SplitRunner(const SliceConfig& config) : config_(config), slices_(config.slices) {}

  void execute(const Run& run, const std::function<void()>& poll, std::vector<Found>& results) override {
    for (std::size_t slice = 0; slice < slices_; ++slice) probers_.of(slice).begin(run);
    found_.assign(slices_, {});
    if (slices_ == 1 || config_.schedule_seed.has_value()) {
      for (std::size_t slice = 0; slice < slices_; ++slice) work(run, slice);
    } else {
      run_on_threads(run, poll);
    }
    failure_.rethrow();
    const std::size_t from = results.size();
    for (const auto& found : found_) results.insert(results.end(), found.begin(), found.end());
    sort_results(results, from, run.streams());
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
    pool_->run([this, &run](std::size_t slice) { work(run, slice); },
               [this, &poll] {
                 if (!poll || failure_.happened()) return;
                 try {
                   poll();
                 } catch (...) {
                   failure_.keep(std::current_exception());
                 }
               });
  }

  // Cycles are taken in groups, so that the requests of several are served together.
  void work(const Run& run, std::size_t slice) {
    try {
      const auto cycles = static_cast<std::uint32_t>(run.cycles.size());
      const auto group = static_cast<std::uint32_t>(run.config->interleave);
      for (std::uint32_t first = 0; first < cycles && !failure_.happened();) {
        const std::uint32_t last = std::min(cycles - first, group) + first;
        follow(run, slice, first, last);
        first = last;
      }
    } catch (...) {
      failure_.keep(std::current_exception());
    }
  }

  void follow(const Run& run, std::size_t slice, std::uint32_t first, std::uint32_t last) {
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
        if (step == 0) cut(first, last, slice);
        prober.ask(partial, other, first, last);
        if (prober.is_full()) prober.settle(keep);
      }
      if (prober.has_requests()) prober.settle(keep);
      partials.swap(extended);
    }
    found_[slice].insert(found_[slice].end(), partials.begin(), partials.end());
  }

  // The first window is shared out in equal parts; what follows from a row stays with its slice.
  void cut(Seq& first, Seq& last, std::size_t slice) const {
    const Seq size = last - first;
    last = first + size * (slice + 1) / slices_;
    first = first + size * slice / slices_;
  }

  const SliceConfig& config_;
  std::size_t slices_;
  Probers probers_;
  std::vector<std::vector<Found>> found_;
  std::unique_ptr<WorkerPool> pool_;
  Failure failure_;
};

}  // namespace

std::unique_ptr<Runner> make_split_runner(const SliceConfig& config) {
  return std::make_unique<SplitRunner>(config);
}

}  // namespace watersmeet
