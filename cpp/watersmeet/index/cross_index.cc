// No predicate but the window: every joinable row of the range is a partner.

#include "watersmeet/index/index.h"
#include "watersmeet/index/row_output.h"

namespace watersmeet {
namespace {

class CrossIndex final : public Index {
 public:
  explicit CrossIndex(const Window& window) : window_(window) {}

  void append(Seq, Seq) override {}
  void expire_before(Seq) override {}
  void truncate(Seq) override {}

  std::size_t probe(const ProbeRun& run, Pairs& pairs, Work& work) override {
    return for_each_request(run, window_, pairs, work, [&](Seq row, LiveRange range) {
      work.comparisons += range.hi - range.lo;
      add_all_joinable(pairs, row, window_, range.lo, range.hi);
    });
  }

  [[nodiscard]] std::size_t bytes() const override { return 0; }

 private:
  const Window& window_;
};

}  // namespace

std::unique_ptr<Index> make_cross_index(const Window& window) { return std::make_unique<CrossIndex>(window); }

}  // namespace watersmeet
