// What the rows of a slice ask of the other input's state: which rows probe, and which ranges they look at.
//
// Joint's own; joint_requests.cc makes them, joint.cc serves them.
#pragma once

#include <memory>
#include <vector>

#include "watersmeet/base/types.h"
#include "watersmeet/join/joint.h"

namespace watersmeet {

using Leaves = std::vector<std::unique_ptr<Leaf>>;

// The rows of a slice that probe, with the ranges of the other state that they may meet: one, or one for each
// run of cells. Where the state holds combinations, also the first living row of each of their streams; where
// probes are rationed, all that was within reach.
struct Joint::Requests {
  std::vector<Seq> rows;
  std::vector<Seq> lo;
  std::vector<Seq> hi;
  std::vector<Seq> alive;
  std::vector<Seq> reach_lo;
  std::vector<Seq> reach_hi;
  // Where windows are looked at in both directions: how new a partner may be.
  std::vector<Wide> reach;
};

// The newest timestamp that a combination with this row can have. Requires: its members are in their windows.
[[nodiscard]] Wide reach(const TreeState& state, Seq row, const Leaves& leaves);

}  // namespace watersmeet
