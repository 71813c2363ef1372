#include "watersmeet/base/pages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace watersmeet {
namespace {

TEST(PageArray, zeroed_memory_is_zero_even_where_it_was_used_before) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{1000}, std::size_t{1} << 20}) {
    for (int turn = 0; turn < 3; ++turn) {
      auto array = PageArray<std::uint64_t>::zeroed(size);
      ASSERT_EQ(std::count(array.data(), array.data() + size, 0U), static_cast<std::ptrdiff_t>(size));
      std::fill_n(array.data(), size, ~std::uint64_t{0});
    }
  }
}

TEST(PageArray, starts_on_a_cache_line) {
  for (std::size_t size = 1; size < (std::size_t{1} << 23); size = size * 3 + 1) {
    const auto array = PageArray<std::uint8_t>::uninitialized(size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(array.data()) % 64, 0U);
  }
}

TEST(PageArray, a_move_hands_over_the_memory) {
  auto one = PageArray<int>::zeroed(10);
  int* data = one.data();
  PageArray<int> two = std::move(one);
  EXPECT_EQ(two.data(), data);
  EXPECT_EQ(two.size(), 10U);
  two = {};
  EXPECT_EQ(two.bytes(), 0U);
}

TEST(PageArray, many_large_blocks_can_come_and_go) {
  std::vector<PageArray<std::uint8_t>> blocks;
  for (std::size_t turn = 0; turn < 60; ++turn) {
    blocks.push_back(PageArray<std::uint8_t>::uninitialized((turn % 7 + 1) << 21));
    blocks.back()[0] = 1;
    if (blocks.size() > 3) blocks.erase(blocks.begin());
  }
  EXPECT_EQ(blocks.size(), 3U);
}

}  // namespace
}  // namespace watersmeet
