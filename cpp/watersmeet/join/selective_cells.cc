#include "watersmeet/join/selective_cells.h"

#include <algorithm>

namespace watersmeet {

void CellRing::append(std::int64_t place, Seq row) {
  const std::int64_t index = index_of(place);
  if (starts_.empty() || starts_[starts_.end() - 1].index < index) starts_.push_back({index, row});
}

void CellRing::drop_before(Seq row) {
  while (starts_.size() > 1 && starts_[starts_.begin() + 1].first <= row)
    starts_.drop_front_to(starts_.begin() + 1);
}

void CellRing::truncate(Seq row) {
  while (!starts_.empty() && starts_[starts_.end() - 1].first >= row) starts_.truncate_to(starts_.end() - 1);
}

void CellRing::cut(std::int64_t now, Seq lo, Seq hi, std::span<CellRows> out) const {
  const std::int64_t newest = index_of(now);
  auto at = starts_.end();
  Seq top = hi;
  for (std::size_t cell = 0; cell < out.size(); ++cell) {
    const std::int64_t index = newest - static_cast<std::int64_t>(cell);
    while (at > starts_.begin() && starts_[at - 1].index >= index) --at;
    Seq first = at < starts_.end() ? starts_[at].first : top;
    if (cell + 1 == out.size()) first = lo;
    out[cell] = {std::clamp(first, std::min(lo, top), top), top};
    top = out[cell].lo;
  }
}

}  // namespace watersmeet
