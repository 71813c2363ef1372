// Errors the core raises for bad input; the bindings turn each into the Python leaf of the same name.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace watersmeet {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A column is missing, of the wrong type, or holds values that cannot be joined on.
class SchemaError : public Error {
 public:
  using Error::Error;
};

// A row is older than one already taken from the same stream.
class OrderError : public Error {
 public:
  using Error::Error;
};

// Snapshot bytes are damaged, cut short or of another version.
class SnapshotError : public Error {
 public:
  using Error::Error;
};

// An option, or a combination of options, is not allowed.
class ConfigError : public Error {
 public:
  using Error::Error;
};

// What a change needs does not fit under the memory limit.
class MemoryLimitError : public Error {
 public:
  using Error::Error;
};

// A user's compiled function could not decide about a pair. Rows are numbered as in their windows.
class PairError : public Error {
 public:
  PairError(std::uint64_t own_row, std::uint64_t other_row, int verdict)
      : Error("a compiled function returned " + std::to_string(verdict)),
        own(own_row),
        other(other_row),
        code(verdict) {}
  std::uint64_t own;
  std::uint64_t other;
  int code;
};

}  // namespace watersmeet
