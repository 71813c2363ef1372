#include "watersmeet/join/selective_drops.h"

#include <algorithm>
#include <cmath>

#include "watersmeet/base/errors.h"

namespace watersmeet {
namespace {

// Rows of both streams are added to one sum, in an order that depends on batching: as whole numbers, of which
// a double holds 2^53 exactly, they give the same sum in any order.
constexpr double kSteps = 1024;
[[nodiscard]] double whole(double value) { return std::floor(value * kSteps); }

}  // namespace

void DropWeights::add_result(std::size_t stream, Seq own, Seq other) {
  const double own_weight = weights_[stream][own];
  const double other_weight = weights_[1 - stream][other];
  sums_.weighed[stream] += own_weight * other_weight;
  if (own_weight == 1 && other_weight == 1) return;
  sums_.pairs += own_weight * (own_weight - 1) * other_weight * (other_weight - 1);
  if (own_weight != 1) add_degree(stream, own, other_weight);
  if (other_weight != 1) add_degree(1 - stream, other, own_weight);
}

void DropWeights::add_degree(std::size_t stream, Seq row, double weight) {
  double& degree = degrees_[stream][row];
  changed_.push_back({stream, row, degree});
  degree += weight;
}

void DropWeights::drop_before(std::size_t stream, Seq row) {
  for (Seq gone = degrees_[stream].begin(); gone < row; ++gone) sums_.rows += whole(spread(stream, gone));
  weights_[stream].drop_front_to(row);
  degrees_[stream].drop_front_to(row);
}

void DropWeights::roll_back(const std::array<Seq, kSides>& ends) {
  for (auto changed = changed_.rbegin(); changed != changed_.rend(); ++changed) {
    degrees_[changed->stream][changed->row] = changed->degree;
  }
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    weights_[stream].truncate_to(ends[stream]);
    degrees_[stream].truncate_to(ends[stream]);
  }
  sums_ = before_;
  changed_.clear();
}

double DropWeights::variance() const {
  double rows = sums_.rows;
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    for (Seq row = degrees_[stream].begin(); row < degrees_[stream].end(); ++row)
      rows += whole(spread(stream, row));
  }
  return std::max(0.0, rows / kSteps - sums_.pairs);
}

std::size_t DropWeights::bytes() const {
  std::size_t total = changed_.capacity() * sizeof(Changed);
  for (std::size_t stream = 0; stream < kSides; ++stream)
    total += weights_[stream].bytes() + degrees_[stream].bytes();
  return total;
}

void DropWeights::save_sums(ByteWriter& writer) const {
  for (const double value : {sums_.weighed[0], sums_.weighed[1], sums_.rows, sums_.pairs}) writer.put(value);
}

void DropWeights::load_sums(ByteReader& reader) {
  for (double* value : {&sums_.weighed[0], &sums_.weighed[1], &sums_.rows, &sums_.pairs}) {
    *value = reader.get<double>();
  }
}

void DropWeights::save(ByteWriter& writer) const {
  save_sums(writer);
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    writer.put_sliding(weights_[stream]);
    writer.put_sliding(degrees_[stream]);
  }
}

void DropWeights::load(ByteReader& reader) {
  load_sums(reader);
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    reader.get_sliding(weights_[stream]);
    reader.get_sliding(degrees_[stream]);
    if (weights_[stream].begin() != degrees_[stream].begin() ||
        weights_[stream].end() != degrees_[stream].end()) {
      throw SnapshotError("snapshot: the weights of a window's rows differ in length");
    }
  }
}

}  // namespace watersmeet
