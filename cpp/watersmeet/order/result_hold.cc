#include "watersmeet/order/result_hold.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "watersmeet/base/errors.h"
#include "watersmeet/order/hold_buffer.h"

namespace watersmeet {
namespace {

template <std::size_t Streams>
class Hold final : public ResultHold {
 public:
  void add(std::span<const Timestamp> times, const std::vector<std::span<const RowId>>& rows) override {
    std::vector<Combination<Streams>>& fresh = fresh_;
    fresh.resize(times.size());
    for (std::size_t at = 0; at < times.size(); ++at) {
      fresh[at].ts = times[at];
      for (std::size_t stream = 0; stream < Streams; ++stream) {
        fresh[at].rows[stream] = rows[stream][at];
        first_[stream] = std::min(first_[stream], rows[stream][at]);
      }
    }
    buffer_.add(fresh);
  }

  RowColumns release_before(Timestamp bound) override {
    return released([&](auto& out) { buffer_.release_before(bound, out); });
  }
  RowColumns release_all() override {
    return released([&](auto& out) { buffer_.release_all(out); });
  }

  [[nodiscard]] std::size_t streams() const override { return Streams; }
  [[nodiscard]] std::size_t size() const override { return buffer_.size(); }
  [[nodiscard]] std::size_t bytes() const override {
    return buffer_.bytes() + fresh_.capacity() * sizeof(Combination<Streams>);
  }

  // A walk over all that is held is taken once as many have been released.
  RowId first_row(std::size_t stream) override {
    if (buffer_.empty()) return kNoRow;
    if (gone_ > buffer_.size() / 2) {
      for (std::size_t each = 0; each < Streams; ++each) first_[each] = buffer_.first_row(each);
      gone_ = 0;
    }
    return first_[stream];
  }

  [[nodiscard]] bool holds(std::span<const RowId> rows) const override {
    std::array<RowId, Streams> all;
    std::copy_n(rows.begin(), Streams, all.begin());
    return buffer_.holds(all);
  }

  void save(ByteWriter& writer) const override { buffer_.save(writer); }
  void load(ByteReader& reader) override {
    buffer_.load(reader);
    for (std::size_t stream = 0; stream < Streams; ++stream) first_[stream] = buffer_.first_row(stream);
    gone_ = 0;
  }

 private:
  template <class Release>
  [[nodiscard]] RowColumns released(Release release) {
    CombinationRows<Streams> out;
    const std::size_t before = buffer_.size();
    release(out);
    gone_ += before - buffer_.size();
    if (buffer_.empty()) first_.fill(kNoRow);
    RowColumns columns;
    for (auto& column : out.columns) columns.push_back(std::move(column));
    return columns;
  }

  HoldBufferOf<Combination<Streams>> buffer_;
  std::vector<Combination<Streams>> fresh_;
  std::array<RowId, Streams> first_ = filled();
  std::size_t gone_ = 0;  // released since first_ was last looked for

  [[nodiscard]] static std::array<RowId, Streams> filled() {
    std::array<RowId, Streams> all;
    all.fill(kNoRow);
    return all;
  }
};

}  // namespace

std::unique_ptr<ResultHold> make_result_hold(std::size_t streams) {
  switch (streams) {
    case 2:
      return std::make_unique<Hold<2>>();
    case 3:
      return std::make_unique<Hold<3>>();
    case 4:
      return std::make_unique<Hold<4>>();
    case 5:
      return std::make_unique<Hold<5>>();
    case 6:
      return std::make_unique<Hold<6>>();
    case 7:
      return std::make_unique<Hold<7>>();
    case 8:
      return std::make_unique<Hold<8>>();
    default:
      break;
  }
  throw ConfigError("a hold for results of " + std::to_string(streams) + " streams: expected 2 to " +
                    std::to_string(kMostCombined));
}

}  // namespace watersmeet
