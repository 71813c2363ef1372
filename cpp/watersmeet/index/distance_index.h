// The scan over vectors; made by make_scan_index.
#pragma once

#include <memory>

#include "watersmeet/index/index.h"

namespace watersmeet {

std::unique_ptr<Index> make_distance_index(const Window& window, const Term& term);

}  // namespace watersmeet
