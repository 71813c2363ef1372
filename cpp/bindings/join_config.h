// The choices of a join by the names that Python has for them.
#pragma once

#include <string>

#include "watersmeet/join/config.h"

namespace watersmeet::bindings {

// Each throws ConfigError for a name that it does not know.
[[nodiscard]] IndexKind index_kind(const std::string& name);
[[nodiscard]] MergeKind merge_kind(const std::string& name);
[[nodiscard]] How how_kind(const std::string& name);
[[nodiscard]] Order order_kind(const std::string& name);

}  // namespace watersmeet::bindings
