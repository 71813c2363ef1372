#include "watersmeet/predicate/distance.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "watersmeet/base/exact_sum.h"

namespace watersmeet {
namespace {

template <class T>
VectorColumn column_of(Element element, const std::vector<std::vector<T>>& rows) {
  VectorColumn column(element, rows[0].size());
  for (const auto& row : rows) {
    std::memcpy(column.data.extend(column.row_bytes), row.data(), column.row_bytes);
    ExactSum squares;
    for (const T value : row) squares.add(static_cast<double>(value) * static_cast<double>(value));
    column.squares.push_back(squares.value());
  }
  return column;
}

// The definition in long doubles, wide enough for the small numbers of these tests.
template <class T>
double defined(Metric metric, const std::vector<T>& one, const std::vector<T>& two) {
  long double sum = 0;
  long double own = 0;
  long double other = 0;
  for (std::size_t at = 0; at < one.size(); ++at) {
    const auto a = static_cast<double>(one[at]);
    const auto b = static_cast<double>(two[at]);
    own += static_cast<long double>(a * a);
    other += static_cast<long double>(b * b);
    if (metric == Metric::kMeanAbs) sum += static_cast<long double>(std::abs(a - b));
    if (metric == Metric::kL2) sum += static_cast<long double>((a - b) * (a - b));
    if (metric == Metric::kCosine) sum += static_cast<long double>(a * b);
    if (metric == Metric::kHamming) {
      sum += std::popcount(static_cast<std::uint64_t>(one[at]) ^ static_cast<std::uint64_t>(two[at]));
    }
  }
  const auto total = static_cast<double>(sum);
  if (metric == Metric::kMeanAbs) return total / static_cast<double>(one.size());
  if (metric == Metric::kL2) return std::sqrt(total);
  if (metric == Metric::kHamming) return total;
  const double squares = static_cast<double>(own) * static_cast<double>(other);
  return squares == 0 ? std::nan("") : 1 - total / std::sqrt(squares);
}

template <class T, class Draw>
void expect_definition(Element element, const std::vector<Metric>& metrics, Draw draw) {
  std::mt19937_64 random(7);
  for (const std::size_t width : {1U, 3U, 16U, 100U, 1024U, 1500U, 5000U}) {
    for (const Metric metric : metrics) {
      for (int round = 0; round < 20; ++round) {
        std::vector<T> one(width);
        std::vector<T> two(width);
        for (std::size_t at = 0; at < width; ++at) {
          one[at] = draw(random);
          two[at] = round % 3 == 0 ? one[at] : draw(random);
        }
        const double distance = defined(metric, one, two);
        const VectorColumn column = column_of<T>(element, {one, two});
        const auto near = [&](double at_most) {
          const Term term{.kind = TermKind::kDistance,
                          .metric = metric,
                          .at_most = at_most,
                          .element = element,
                          .width = width};
          const bool answer = DistanceTest(term)(column, 0, column, 1);
          EXPECT_EQ(DistanceTest(term)(column, 1, column, 0), answer);
          return answer;
        };
        // At the distance itself, the number below it, and well away from it.
        EXPECT_EQ(near(distance), !std::isnan(distance)) << width << " " << static_cast<int>(metric);
        if (distance > 0) {
          EXPECT_FALSE(near(std::nextafter(distance, -1.0))) << width << " " << static_cast<int>(metric);
          EXPECT_FALSE(near(distance / 2));
          EXPECT_TRUE(near(distance * 2));
        }
      }
    }
  }
}

TEST(OracleDistance, bytes_are_judged_by_the_definition) {
  expect_definition<std::uint8_t>(Element::kByte,
                                  {Metric::kMeanAbs, Metric::kL2, Metric::kCosine, Metric::kHamming},
                                  [](auto& random) { return static_cast<std::uint8_t>(random()); });
}
TEST(OracleDistance, floats_are_judged_by_the_definition) {
  expect_definition<float>(Element::kFloat, {Metric::kMeanAbs, Metric::kL2, Metric::kCosine},
                           [](auto& random) { return std::uniform_real_distribution<float>(-1, 1)(random); });
}
TEST(OracleDistance, doubles_are_judged_by_the_definition) {
  expect_definition<double>(Element::kReal, {Metric::kMeanAbs, Metric::kL2}, [](auto& random) {
    return static_cast<double>(static_cast<std::int64_t>(random() % 4096)) / 64;
  });
}
TEST(OracleDistance, words_are_judged_by_the_definition) {
  expect_definition<std::int64_t>(Element::kWord, {Metric::kHamming},
                                  [](auto& random) { return static_cast<std::int64_t>(random() >> 1); });
}

TEST(Distance, a_vector_of_zeros_is_at_no_cosine_distance) {
  const VectorColumn column = column_of<float>(Element::kFloat, {{0, 0}, {1, 2}});
  const DistanceTest test({.kind = TermKind::kDistance,
                           .metric = Metric::kCosine,
                           .at_most = 2,
                           .element = Element::kFloat,
                           .width = 2});
  EXPECT_FALSE(test(column, 0, column, 1));
  EXPECT_TRUE(test(column, 1, column, 1));
}

TEST(Distance, floats_whose_squares_overflow_are_judged_in_doubles) {
  const VectorColumn column =
      column_of<float>(Element::kFloat, {std::vector<float>(40, 1e25F), std::vector<float>(40, -1e25F)});
  const auto near = [&](double at_most) {
    return DistanceTest({.kind = TermKind::kDistance,
                         .metric = Metric::kL2,
                         .at_most = at_most,
                         .element = Element::kFloat,
                         .width = 40})(column, 0, column, 1);
  };
  EXPECT_TRUE(near(1.27e26));
  EXPECT_FALSE(near(1.26e26));
}

TEST(ExactSum, is_the_sum_rounded_once) {
  ExactSum sum;
  for (const double value : {1e100, 1.0, -1e100}) sum.add(value);
  EXPECT_EQ(sum.value(), 1.0);
  sum.clear();
  for (int time = 0; time < 10; ++time) sum.add(0.1);
  EXPECT_EQ(sum.value(), 1.0);
  sum.clear();
  for (const double value : {1.0, 0x1p-53, 0x1p-106}) sum.add(value);  // just above half way
  EXPECT_EQ(sum.value(), 1 + 0x1p-52);
}

}  // namespace
}  // namespace watersmeet
