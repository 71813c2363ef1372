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
    probers_.clear();
    for (std::size_t slice = 0; slice < slices_; ++slice) probers_.push_back(std::make_unique<Prober>(run));
    found_.assign(slices_, {});
    if (slices_ == 1 || config_.schedule_seed.has_value()) {
      for (std::size_t slice = 0; slice < slices_; ++slice) work(run, slice);
    } else {
      run_on_threads(run, poll);
    }
    count();
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
  [[nodiscard]] std::size_t active() const override { return slices_; }

  // A row's slice follows from its number: there is nothing to place.
  void place(const std::vector<RowRange>&) override {}
  [[nodiscard]] std::vector<std::vector<RowRange>> held() const override { return {}; }
  void put_back(const std::vector<std::vector<RowRange>>&) override {}

  void add_to(SliceStatistics& statistics) const override {
    statistics.compared = compared_;
    statistics.compared.resize(slices_, 0);
    for (std::size_t members = 0; members < steps_.size(); ++members) {
      for (std::size_t other = 0; other < kMostStreams; ++other) {
        statistics.steps[members][other].compared += steps_[members][other].compared;
        statistics.steps[members][other].kept += steps_[members][other].kept;
      }
    }
  }

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

  // Cycles are taken in groups, so that candidates of several are asked for together.
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
    Prober& prober = *probers_[slice];
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
        // The first window is shared out by row number; what follows from a row stays with its slice.
        const std::size_t stride = step == 0 ? slices_ : 1;
        const std::size_t offset = step == 0 ? slice : 0;
        prober.probe(partial, other, cycle.oldest[other], cycle.newest[other], stride, offset, keep);
        if (prober.is_full()) prober.settle(keep);
      }
      if (prober.has_candidates()) prober.settle(keep);
      partials.swap(extended);
    }
    found_[slice].insert(found_[slice].end(), partials.begin(), partials.end());
  }

  void count() {
    compared_.resize(std::max(compared_.size(), slices_), 0);
    for (std::size_t slice = 0; slice < slices_; ++slice) {
      const Prober::Counts& counts = probers_[slice]->counts();
      for (std::size_t members = 0; members < counts.size(); ++members) {
        for (std::size_t other = 0; other < kMostStreams; ++other) {
          compared_[slice] += counts[members][other].compared;
          steps_[members][other].compared += counts[members][other].compared;
          steps_[members][other].kept += counts[members][other].kept;
        }
      }
    }
  }

  const SliceConfig& config_;
  std::size_t slices_;
  std::vector<std::unique_ptr<Prober>> probers_;
  std::vector<std::vector<Found>> found_;
  std::unique_ptr<WorkerPool> pool_;
  Failure failure_;
  std::vector<std::uint64_t> compared_;
  Prober::Counts steps_ = {};
};

}  // namespace

std::unique_ptr<Runner> make_split_runner(const SliceConfig& config) {
  return std::make_unique<SplitRunner>(config);
}

}  // namespace watersmeet
