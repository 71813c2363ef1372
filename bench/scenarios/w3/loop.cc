// W3: cosine of weighted sets as a bare loop. Every item's rows are walked, product by product, into one
// float per row of the window; one sweep then finds the rows near or above the threshold, which are settled
// in double precision, and clears the sums. Weights are of length 1 in float, not exactly in double, hence
// the division.
#include <cmath>

#include "../postings.h"

namespace {

using loop::Options;
using loop::Output;
using loop::Sets;

constexpr float kDoubt = 1e-4F;  // far more than float sums of 32 products can be off
constexpr int64_t kStride = 64;  // sums looked at together

struct Entry {
  int32_t row;
  float weight;
};

struct Side {
  const Sets sets;
  const std::vector<double> weights;
  std::vector<loop::Postings<Entry>> postings;
  int64_t entered = 0;

  Side(const Options& options, int stream)
      : sets(options, stream),
        weights(loop::read_npy<double>(loop::array_path(options, "weights", stream), sets.offsets.back())),
        postings(static_cast<size_t>(options.domain) + 1) {}

  const double* weight(const int64_t* item) const { return weights.data() + (item - sets.items.data()); }
};

double cosine(const Side& own, int64_t own_row, const Side& other, int64_t other_row) {
  double dot = 0;
  double own_length = 0;
  double other_length = 0;
  for (const int64_t* mine = own.sets.begin(own_row); mine != own.sets.end(own_row); ++mine) {
    own_length += *own.weight(mine) * *own.weight(mine);
    for (const int64_t* its = other.sets.begin(other_row); its != other.sets.end(other_row); ++its) {
      if (*mine == *its) dot += *own.weight(mine) * *other.weight(its);
    }
  }
  for (const int64_t* its = other.sets.begin(other_row); its != other.sets.end(other_row); ++its) {
    other_length += *other.weight(its) * *other.weight(its);
  }
  return dot / std::sqrt(own_length * other_length);
}

// Whether any of kStride sums reaches the bound; plain code, so that the compiler makes wide compares of it.
bool any_reaches(const float* sums, float bound) {
  float most = sums[0];
  for (int64_t at = 1; at < kStride; ++at) most = sums[at] > most ? sums[at] : most;
  return most >= bound;
}

}  // namespace

int main(int count, char** arguments) {
  const Options options = loop::parse(count, arguments);
  Side left(options, 0);
  Side right(options, 1);
  const int64_t reach = options.reach();
  const int64_t mask = loop::power_of_two(2 * reach + options.batch + 1) - 1;
  const float bound = static_cast<float>(options.threshold) - kDoubt;
  std::vector<float> sums(static_cast<size_t>(mask + 1));
  std::vector<int64_t> near;

  // Looks at the sums of rows [first, last), which lie straight in the ring, and clears them.
  const auto sweep = [&](int64_t first, int64_t last) {
    float* at = sums.data() + (first & mask);
    int64_t row = first;
    for (; row + kStride <= last; row += kStride, at += kStride) {
      if (any_reaches(at, bound)) {
        for (int64_t lane = 0; lane < kStride; ++lane) {
          if (at[lane] >= bound) near.push_back(row + lane);
        }
      }
    }
    for (; row < last; ++row, ++at) {
      if (*at >= bound) near.push_back(row);
    }
    std::memset(sums.data() + (first & mask), 0, static_cast<size_t>(last - first) * sizeof(float));
  };

  return loop::measure(options, 2, [&](Output& output) {
    const auto step = [&](Side& own, Side& other, int64_t begin, int64_t end, bool own_is_left) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t oldest = std::max<int64_t>(0, row - reach);
        const int64_t newest = std::min(other.entered, row + reach + 1);
        if (oldest >= newest) continue;
        for (const int64_t* item = own.sets.begin(row); item != own.sets.end(row); ++item) {
          const auto weight = static_cast<float>(*own.weight(item));
          auto& postings = other.postings[static_cast<size_t>(*item)];
          postings.expire(static_cast<int32_t>(oldest));
          for (const Entry* found = postings.first(); found != postings.last() && found->row < newest;
               ++found) {
            sums[static_cast<size_t>(found->row & mask)] += weight * found->weight;
          }
        }
        near.clear();
        const int64_t turn = (oldest | mask) + 1;
        sweep(oldest, std::min(turn, newest));
        if (turn < newest) sweep(turn, newest);
        output.reserve(static_cast<int64_t>(near.size()));
        for (const int64_t found : near) {
          if (cosine(own, row, other, found) < options.threshold) continue;
          own_is_left ? output.put(row, found) : output.put(found, row);
        }
      }
      for (int64_t row = begin; row < end; ++row) {
        for (const int64_t* item = own.sets.begin(row); item != own.sets.end(row); ++item) {
          own.postings[static_cast<size_t>(*item)].append(
              {static_cast<int32_t>(row), static_cast<float>(*own.weight(item))});
        }
      }
      own.entered = end;
    };
    loop::alternate(options, left, right, output, step);
  });
}
