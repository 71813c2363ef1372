#include "watersmeet/tuple/interner.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

namespace watersmeet {
namespace {

TEST(Interner, equal_values_share_a_code_and_others_do_not) {
  Interner words(false);
  const Code one = words.intern(std::uint64_t{1});
  EXPECT_EQ(words.intern(std::uint64_t{1}), one);
  EXPECT_NE(words.intern(std::uint64_t{2}), one);
  Interner texts(true);
  const Code empty = texts.intern(std::string_view());
  EXPECT_EQ(texts.intern(std::string_view("")), empty);
  EXPECT_NE(texts.intern(std::string_view("\0", 1)), empty);
}

TEST(Interner, a_code_is_given_away_only_after_its_last_reference) {
  Interner interner(true);
  const Code first = interner.intern(std::string_view("a"));
  interner.intern(std::string_view("a"));
  interner.release(first);
  EXPECT_NE(interner.intern(std::string_view("b")), first);
  interner.release(first);
  EXPECT_EQ(interner.intern(std::string_view("c")), first);
}

TEST(Interner, memory_of_texts_is_given_back) {
  Interner interner(true);
  const std::string text(100'000, 'x');
  const Code code = interner.intern(std::string_view(text));
  const std::size_t held = interner.bytes();
  interner.release(code);
  EXPECT_LE(interner.bytes() + 99'000, held);
  EXPECT_EQ(interner.live(), 0U);
}

TEST(Interner, differential_agrees_with_a_map_of_references) {
  for (const bool bytes : {false, true}) {
    std::mt19937_64 random(5);
    Interner interner(bytes);
    std::map<std::uint64_t, std::pair<Code, int>> model;
    for (int step = 0; step < 20'000; ++step) {
      const std::uint64_t value = random() % 300;
      const auto found = model.find(value);
      if (random() % 2 == 0 || found == model.end()) {
        const Code code =
            bytes ? interner.intern(std::string_view(std::to_string(value))) : interner.intern(value);
        auto& entry = model.try_emplace(value, code, 0).first->second;
        ASSERT_EQ(entry.first, code);
        ++entry.second;
      } else {
        interner.release(found->second.first);
        if (--found->second.second == 0) model.erase(found);
      }
      ASSERT_EQ(interner.live(), model.size());
    }
  }
}

TEST(Interner, a_saved_interner_gives_the_same_codes) {
  Interner interner(true);
  std::map<std::string, Code> codes;
  for (int value = 0; value < 500; ++value) {
    codes[std::to_string(value)] = interner.intern(std::string_view(std::to_string(value)));
  }
  for (int value = 0; value < 500; value += 3) {
    interner.release(codes[std::to_string(value)]);
    codes.erase(std::to_string(value));
  }
  ByteWriter writer;
  interner.save(writer);
  const std::string bytes = writer.bytes();
  ByteReader reader(bytes);
  Interner restored(true);
  restored.load(reader);
  for (const auto& [text, code] : codes) restored.add_reference(code);
  restored.drop_unreferenced();
  EXPECT_EQ(restored.live(), codes.size());
  for (const auto& [text, code] : codes) EXPECT_EQ(restored.intern(std::string_view(text)), code);
}

}  // namespace
}  // namespace watersmeet
