// Hashing of 64-bit words and of bytes. Not stable across versions: nothing persistent depends on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace watersmeet {

[[nodiscard]] inline std::uint64_t hash_word(std::uint64_t word) {
  word ^= word >> 32;
  word *= 0x9E3779B97F4A7C15ULL;
  return word ^ (word >> 29);
}

// Folds 8 bytes at a time through a 64 x 64 -> 128 bit multiplication.
[[nodiscard]] inline std::uint64_t hash_bytes(const char* data, std::size_t size) {
  std::uint64_t state = 0x243F6A8885A308D3ULL ^ size;
  const auto fold = [&state](std::uint64_t word) {
    const auto wide = static_cast<unsigned __int128>(state ^ word) * 0x9FB21C651E98DF25ULL;
    state = static_cast<std::uint64_t>(wide) ^ static_cast<std::uint64_t>(wide >> 64);
  };
  std::uint64_t word = 0;
  for (; size >= 8; data += 8, size -= 8) {
    std::memcpy(&word, data, 8);
    fold(word);
  }
  if (size > 0) {
    word = 0;
    std::memcpy(&word, data, size);
    fold(word);
  }
  return hash_word(state);
}

}  // namespace watersmeet
