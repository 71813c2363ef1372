// The inverted index over weighted sets (dot and cosine); made by make_inverted_index.
#pragma once

#include <memory>

#include "watersmeet/index/index.h"

namespace watersmeet {

std::unique_ptr<Index> make_weighted_index(const Window& window, const Term& term, MergeKind merge);

}  // namespace watersmeet
