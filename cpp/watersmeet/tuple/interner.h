// Small dense codes for set items and for keys that are not 64-bit words, counted by the rows that hold them.
//
// Both windows of a term share one interner, so equal codes mean equal values, exactly: values are compared
// in full, never by hash alone. A value's memory is given back when the last row holding it expires.
//
// Invariants
//   (1) A code with references names one value; two codes never name equal values.
//   (2) A code without references may be given to another value.
// Cost       intern and release O(1) expected.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "watersmeet/base/types.h"
#include "watersmeet/snapshot/bytes.h"

namespace watersmeet {

class Interner {
 public:
  // bytes: values are strings of bytes; otherwise 64-bit words.
  explicit Interner(bool bytes) : bytes_mode_(bytes) {}

  // The value's code, with one reference more.
  Code intern(std::uint64_t word);
  Code intern(std::string_view text);
  // Takes one reference back.
  void release(Code code);

  // One reference more to a code that already has one, or was just restored.
  void add_reference(Code code) { ++entries_[code].references; }

  [[nodiscard]] bool known(std::uint64_t code) const { return code < entries_.size() && entries_[code].used; }
  [[nodiscard]] std::size_t live() const { return live_; }
  [[nodiscard]] std::size_t bytes() const;
  [[nodiscard]] bool holds_bytes() const { return bytes_mode_; }
  // Fills the cache with the bucket of a word about to be interned.
  void prefetch(std::uint64_t word) const;

  // Gives back memory beyond what the values in use, and the codes below theirs, need.
  void trim();

  void save(ByteWriter& writer) const;
  // References start at 0: the rows that hold codes add theirs, then drop_unreferenced() tidies.
  void load(ByteReader& reader);
  void drop_unreferenced();

 private:
  struct Entry {
    std::uint64_t word = 0;  // the value, or the hash of the text
    std::uint32_t references = 0;
    Code next = 0;  // next entry of the bucket
    bool used = false;
  };

  template <class Same>
  Code find_or_add(std::uint64_t hash, std::uint64_t word, Same same, std::string_view text);
  void place(Code code, std::uint64_t word, std::string_view text);
  void unlink(Code code);
  void grow();
  [[nodiscard]] std::uint64_t hash_of(const Entry& entry) const;

  bool bytes_mode_;
  std::vector<Code> buckets_;
  std::vector<Entry> entries_;
  std::vector<std::string> texts_;
  std::vector<Code> free_;
  std::size_t live_ = 0;
  std::size_t text_bytes_ = 0;
};

}  // namespace watersmeet
