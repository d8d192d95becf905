#pragma once

// Small programs that bench/library_dikkat.cpp and bench/library_torch.cpp both run: what is computed, from which shapes, and how the time
// is taken. bench/library.py compares the two. Nothing here knows either library.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace library_bench {

using Extents = std::vector<std::int64_t>;

inline std::int64_t size_of(const Extents& shape) {
  std::int64_t size = 1;
  for (const std::int64_t extent : shape) {
    size *= extent;
  }
  return size;
}

/// A program computes y from leaves, and the gradients of <dy, y> by the leaves, where dy is constant.
struct Program {
  const char* name;
  const char* text;             // its formula
  std::vector<Extents> leaves;  // tensors that need gradients
  Extents ids{};                // of constant integers below ids_below
  std::int64_t ids_below = 0;
};

inline constexpr int kChain = 20;            // operations of scalar_chain
inline constexpr int kRecordedChain = 1000;  // of recording

inline const std::vector<Program>& programs() {
  static const std::vector<Program> all = {
      // Tiny ones.
      {"scalar_chain", "20 additions and multiplications of two scalars", {{}, {}}},
      {"mlp", "mse(w3 tanh(w2 tanh(w1 x))), 2-16-16-1 on 8 rows", {{16, 2}, {16}, {16, 16}, {16}, {1, 16}, {1}, {8, 2}, {8, 1}}},
      {"cross_entropy", "cross-entropy of (4, 10)", {{4, 10}}, {4}, 10},
      {"layer_norm_tiny", "layer norm of (8, 64)", {{8, 64}, {64}, {64}}},
      {"lstm_cell", "one LSTM step, 8 rows, 32 to 32", {{8, 32}, {8, 32}, {8, 32}, {128, 32}, {128, 32}, {128}, {128}}},
      {"attention_tiny", "softmax(q k^T) v, (2, 16, 16)", {{2, 16, 16}, {2, 16, 16}, {2, 16, 16}}},
      // Layer-sized ones.
      {"formula", "x tanh(y) + 1, x a row, y (256, 1024)", {{1024}, {256, 1024}}},
      {"formula_of_row", "x tanh(y) + 1, x (256, 1024), y a row", {{256, 1024}, {1024}}},
      {"add_column", "x + column, (256, 1024)", {{256, 1024}, {256, 1}}},
      {"where_clamp", "x where x > 0, else clamp(y, -0.5, 0.5), (256, 1024)", {{256, 1024}, {256, 1024}}},
      {"sum_0", "sum over axis 0 of (1024, 1024)", {{1024, 1024}}},
      {"sum_1", "sum over axis 1 of (1024, 1024)", {{1024, 1024}}},
      {"variance", "variance over axis 1 of (1024, 1024)", {{1024, 1024}}},
      {"softmax", "softmax over axis 1 of (1024, 1024)", {{1024, 1024}}},
      {"logsumexp", "logsumexp over axis 1 of (1024, 1024)", {{1024, 1024}}},
      {"layer_norm", "layer norm of (1024, 768)", {{1024, 768}, {768}, {768}}},
      {"cumsum", "cumsum over axis 1 of (256, 1024)", {{256, 1024}}},
      {"topk", "the 16 largest of each row of (256, 1024)", {{256, 1024}}},
      {"index_select", "4096 rows of (8192, 256)", {{8192, 256}}, {4096}, 8192},
      {"transpose", "transpose (1024, 1024), contiguous", {{1024, 1024}}},
      {"concat", "concat of (256, 512) and (256, 1024) along axis 1", {{256, 512}, {256, 1024}}},
      {"matmul", "(256, 256) (256, 256)", {{256, 256}, {256, 256}}},
      {"batched_matmul", "64 times (64, 64) (64, 64)", {{64, 64, 64}, {64, 64, 64}}},
      {"einsum", "bthd,bshd->bhts, (4, 128, 8, 32)", {{4, 128, 8, 32}, {4, 128, 8, 32}}},
      {"conv2d", "1 to 16 channels, 3x3 with padding, (16, 1, 28, 28)", {{16, 1, 28, 28}, {16, 1, 3, 3}, {16}}},
      {"max_pool2d", "2x2 of (16, 16, 28, 28)", {{16, 16, 28, 28}}},
      {"lstm", "LSTM over 32 steps, 16 rows, 64 to 64", {{16, 32, 64}, {256, 64}, {256, 64}, {256}, {256}}},
  };
  return all;
}

/// A number in [-1, 1) that depends only on its place.
inline float number(std::uint64_t array, std::uint64_t i) {
  std::uint64_t z = (array + 1) * 0x9e3779b97f4a7c15 + i * 0xbf58476d1ce4e5b9;  // the last steps of splitmix64
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  z ^= z >> 31;
  return static_cast<float>(static_cast<double>(z >> 40) / (1 << 23) - 1);
}
inline std::vector<float> numbers(std::uint64_t array, std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = number(array, i);
  }
  return values;
}
template <class Id>
std::vector<Id> ids_of(const Program& program) {
  std::vector<Id> ids;
  for (std::int64_t i = 0; i < size_of(program.ids); ++i) {
    const double part = (number(99, static_cast<std::uint64_t>(i)) + 1) / 2;
    ids.push_back(static_cast<Id>(part * static_cast<double>(program.ids_below)));
  }
  return ids;
}

/// A number that two right programs agree on: a sum in which every element counts differently.
inline double digest(std::span<const float> values) {
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    sum += (1 + static_cast<double>(i % 7)) * static_cast<double>(values[i]);
  }
  return sum;
}

struct Options {
  int threads = 1;
  double seconds = 0.3;   // for each program
  std::string_view only;  // the name of one program; empty: all
};

inline Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view key = argv[i];
    if (key == "--threads") {
      options.threads = std::atoi(argv[i + 1]);
    } else if (key == "--seconds") {
      options.seconds = std::atof(argv[i + 1]);
    } else if (key == "--only") {
      options.only = argv[i + 1];
    }
  }
  return options;
}

/// Microseconds that this process has computed, on all of its threads. Unlike the clock, they do not count the time of other processes.
inline double process_us() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

/// Runs f for some time and prints a JSON line. A sample is as many runs as take 200 microseconds. `digests` are of y and of each gradient.
template <class F>
void report(const Options& options, const char* name, int parts, F&& f, std::span<const double> digests = {}) {
  using Clock = std::chrono::steady_clock;
  const auto microseconds = [](auto duration) { return std::chrono::duration<double, std::micro>(duration).count(); };
  double least_cpu = 1e300;
  const auto sample = [&](int runs) {
    const double cpu_start = process_us();
    const auto start = Clock::now();
    for (int i = 0; i < runs; ++i) {
      f();
    }
    const double time = microseconds(Clock::now() - start) / runs;
    least_cpu = std::min(least_cpu, (process_us() - cpu_start) / runs / parts);
    return time;
  };
  // Warm up, then choose the runs of a sample.
  double once = sample(1);
  for (int i = 0; i < 5; ++i) {
    once = std::min(once, sample(1));
  }
  const int runs = std::max(1, static_cast<int>(200 / once));
  std::vector<double> samples;
  least_cpu = 1e300;
  for (const auto end = Clock::now() + std::chrono::duration<double>(options.seconds); Clock::now() < end || samples.size() < 5;) {
    samples.push_back(sample(runs) / parts);
  }
  std::sort(samples.begin(), samples.end());
  std::printf(
      "{\"name\": \"%s\", \"us_median\": %.4f, \"us_min\": %.4f, \"cpu_us_min\": %.4f, \"samples\": %zu, \"threads\": %d, \"digests\": [",
      name, samples[samples.size() / 2], samples.front(), least_cpu, samples.size(), options.threads);
  for (std::size_t i = 0; i < digests.size(); ++i) {
    std::printf("%s%.9g", i == 0 ? "" : ", ", digests[i]);
  }
  std::printf("]}\n");
  std::fflush(stdout);
}

}  // namespace library_bench
