// Little-endian bytes of a snapshot: a writer, a reader that trusts nothing, and the frame around both.
//
// Frame      8 bytes magic, u32 version, u64 body size, body, u32 CRC-32 of everything before it.
// Errors     the reader throws SnapshotError for anything cut short, too long or out of range.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "watersmeet/base/errors.h"
#include "watersmeet/base/sliding_array.h"

namespace watersmeet {

static_assert(std::endian::native == std::endian::little, "snapshots are written in native order");

inline constexpr std::uint32_t kSnapshotVersion = 4;

class ByteWriter {
 public:
  template <class T>
  void put(T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    append(&value, sizeof(T));
  }
  template <class T>
  void put_array(const T* values, std::size_t count) {
    put<std::uint64_t>(count);
    append(values, count * sizeof(T));
  }
  // The live elements and the position of the first.
  template <class T>
  void put_sliding(const SlidingArray<T>& array) {
    put<std::uint64_t>(array.begin());
    put_array(array.at(array.begin()), array.size());
  }
  void put_string(std::string_view text) { put_array(text.data(), text.size()); }

  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  void append(const void* data, std::size_t size) {
    if (size > 0) bytes_.append(static_cast<const char*>(data), size);
  }
  std::string bytes_;
};

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  [[nodiscard]] T get() {
    T value;
    std::memcpy(&value, take(sizeof(T)), sizeof(T));
    return value;
  }
  template <class T>
  [[nodiscard]] std::vector<T> get_array() {
    const auto count = get<std::uint64_t>();
    if (count > bytes_.size() / sizeof(T)) throw SnapshotError("snapshot: an array is longer than its bytes");
    std::vector<T> values(static_cast<std::size_t>(count));
    if (count > 0) std::memcpy(values.data(), take(values.size() * sizeof(T)), values.size() * sizeof(T));
    return values;
  }
  template <class T>
  void get_sliding(SlidingArray<T>& array) {
    const auto begin = get<std::uint64_t>();
    if (begin > (std::uint64_t{1} << 62)) throw SnapshotError("snapshot: a row number is out of range");
    const std::vector<T> values = get_array<T>();
    array.reset(begin);
    array.append(values.data(), values.size());
  }
  [[nodiscard]] std::string_view get_string() {
    const auto size = get<std::uint64_t>();
    if (size > bytes_.size()) throw SnapshotError("snapshot: a string is longer than its bytes");
    return {take(static_cast<std::size_t>(size)), static_cast<std::size_t>(size)};
  }
  // Throws unless everything was read.
  void expect_end() const {
    if (!bytes_.empty()) throw SnapshotError("snapshot: bytes left over at the end");
  }

 private:
  const char* take(std::size_t size) {
    if (size > bytes_.size()) throw SnapshotError("snapshot: cut short");
    const char* data = bytes_.data();
    bytes_.remove_prefix(size);
    return data;
  }
  std::string_view bytes_;
};

// Wraps `body` in a frame with version and checksum.
[[nodiscard]] std::string seal(std::string_view body);
// Returns: the body of a frame, after checking magic, version, size and checksum.
[[nodiscard]] std::string_view unseal(std::string_view frame);

}  // namespace watersmeet
