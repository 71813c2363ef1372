// How far every stream is complete, after rows, promises and silences.
#pragma once

#include <algorithm>

#include "watersmeet/join/side.h"

namespace watersmeet {

// Each stream is complete up to its lateness behind its newest row or promise; an idle one as far as those
// that are not. When nobody else is there to follow, what has come is all there is.
template <class Sides>
void move_watermarks(const Sides& sides) {
  Timestamp followed = kMaxTimestamp;
  Timestamp newest = kMinTimestamp;
  bool any_live = false;
  for (const auto& side : sides) {
    if (side->newest > kMinTimestamp) {
      side->watermark = std::max(side->watermark, saturating_add(side->newest, -side->lateness));
    }
    newest = std::max(newest, side->newest);
    if (side->ended || side->idle) continue;
    any_live = true;
    followed = std::min(followed, side->watermark);
  }
  if (!any_live) followed = newest == kMinTimestamp ? kMinTimestamp : saturating_add(newest, 1);
  for (const auto& side : sides) {
    if (side->idle) side->watermark = std::max(side->watermark, followed);
  }
}

}  // namespace watersmeet
