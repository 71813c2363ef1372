// What the bare C++ loops of bench/scenarios share: input, output, clock, report.
//
// A loop is the yardstick of its workload: the join with nothing around it: raw arrays in, row numbers out,
// no API, no types, no nulls, sizes known in advance, tables allocated and touched before the clock starts.
// It is compiled on the fly with the engine's own flags (`loops.py`); wide instructions are chosen at run
// time.
//
// Usage      loop <data folder> <rows> <spacing us> <window us> <domain> <threshold> <variant> <batch>
// <check: 0|1> Prints     one JSON line: wall and CPU seconds of the join alone, number of results, their
// checksum (0 if not asked).
#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

namespace loop {

inline constexpr uint64_t kMultipliers[] = {0x9E3779B97F4A7C15u, 0xC2B2AE3D27D4EB4Fu, 0x165667B19E3779F9u};

inline uint64_t mix(uint64_t value) {
  value ^= value >> 31;
  value *= 0x94D049BB133111EBu;
  return value ^ (value >> 29);
}

struct Options {
  std::string folder;
  int64_t rows;
  int64_t spacing_us;
  int64_t window_us;
  int64_t domain;
  double threshold;
  std::string variant;
  int64_t batch;
  bool check;

  // How many rows of the other stream, on either side of its own position, a row can reach: rings are made
  // for it. Rows are evenly spaced and both streams tick together, so the window in rows is exact.
  int64_t reach() const { return window_us / spacing_us; }
};

inline Options parse(int count, char** arguments) {
  if (count != 10) {
    std::fprintf(stderr, "usage: see loop.h\n");
    std::exit(2);
  }
  return {arguments[1],
          std::atoll(arguments[2]),
          std::atoll(arguments[3]),
          std::atoll(arguments[4]),
          std::atoll(arguments[5]),
          std::atof(arguments[6]),
          arguments[7],
          std::atoll(arguments[8]),
          arguments[9][0] == '1'};
}

// The first `count` values of a one-dimensional (or flattened) .npy file; all of them if count < 0.
template <typename Value>
std::vector<Value> read_npy(const std::string& path, int64_t count) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) {
    std::fprintf(stderr, "cannot open %s\n", path.c_str());
    std::exit(2);
  }
  const int64_t bytes = file.tellg();
  char head[10];
  file.seekg(0);
  file.read(head, 10);
  uint16_t header = 0;
  std::memcpy(&header, head + 8, 2);
  const int64_t start = 10 + header;
  const int64_t available = (bytes - start) / static_cast<int64_t>(sizeof(Value));
  std::vector<Value> values(static_cast<size_t>(count < 0 ? available : count));
  file.seekg(start);
  file.read(reinterpret_cast<char*>(values.data()),
            static_cast<std::streamsize>(values.size() * sizeof(Value)));
  if (!file) {
    std::fprintf(stderr, "%s is too short\n", path.c_str());
    std::exit(2);
  }
  return values;
}

inline std::string array_path(const Options& options, const char* name, int stream) {
  return options.folder + "/" + name + std::to_string(stream) + ".npy";
}

// Results of one batch as columns of row numbers, reused from batch to batch as a consumer of batches would.
class Output {
 public:
  Output(int streams, bool check) : columns_(static_cast<size_t>(streams)), check_(check) {
    reserve(1 << 20);
  }

  // Makes sure that `more` results fit.
  void reserve(int64_t more) {
    if (size_ + more <= capacity_) return;
    capacity_ = 2 * (size_ + more);
    for (auto& column : columns_) column.resize(static_cast<size_t>(capacity_));
  }

  // Requires: room made by reserve().
  void put(int64_t left, int64_t right) {
    columns_[0][static_cast<size_t>(size_)] = left;
    columns_[1][static_cast<size_t>(size_)] = right;
    ++size_;
  }
  void put(int64_t first, int64_t second, int64_t third) {
    columns_[2][static_cast<size_t>(size_)] = third;
    put(first, second);
  }

  // Hands the batch over: counts it, and sums its hashes when checking.
  void flush() {
    count_ += size_;
    if (check_) {
      for (int64_t row = 0; row < size_; ++row) {
        uint64_t hash = 0;
        for (size_t stream = 0; stream < columns_.size(); ++stream) {
          hash += static_cast<uint64_t>(columns_[stream][static_cast<size_t>(row)]) * kMultipliers[stream];
        }
        checksum_ += mix(hash);
      }
    }
    size_ = 0;
  }

  int64_t count() const { return count_; }
  uint64_t checksum() const { return checksum_; }

 private:
  std::vector<std::vector<int64_t>> columns_;
  bool check_;
  int64_t size_ = 0;
  int64_t capacity_ = 0;
  int64_t count_ = 0;
  uint64_t checksum_ = 0;
};

inline double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](timeval time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Runs `join(output)` under the clock and prints the report.
template <typename Join>
int measure(const Options& options, int streams, Join&& join) {
  Output output(streams, options.check);
  const auto wall = std::chrono::steady_clock::now();
  const double cpu = cpu_seconds();
  join(output);
  const double cpu_spent = cpu_seconds() - cpu;
  const std::chrono::duration<double> wall_spent = std::chrono::steady_clock::now() - wall;
  std::printf("{\"wall\": %.6f, \"cpu\": %.6f, \"count\": %lld, \"checksum\": %llu}\n", wall_spent.count(),
              cpu_spent, static_cast<long long>(output.count()),
              static_cast<unsigned long long>(output.checksum()));
  return 0;
}

}  // namespace loop
