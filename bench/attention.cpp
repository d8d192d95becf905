// How fast is attention, forward and backward, and how much of the machine does it use? f32, heads packed as in the layers.
#include "autograd/kernels/attention/attention.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "autograd/base/parallel.h"
#include "bench/machine.h"
#include "bench/measure.h"
#include "bench/program.h"

namespace dikkat::bench {
namespace {

struct Arguments {
  std::vector<index> batch = {1}, heads = {12}, key_heads = {0}, head_size = {64}, time = {64, 256, 1024, 4096}, windows = {0};
  double dropout = 0, budget = 1;
  bool whole = false, rope = false, json = false;
};

struct Case {
  index batch, heads, key_heads, head_size, time, window;
  bool rope;
  /// FLOPs of one product over the scores that the last query sees; a multiply-add counts as two.
  double token_flops() const {
    return 2 * static_cast<double>(batch * heads * head_size) * static_cast<double>(window == 0 ? time : std::min(window, time));
  }
  /// As token_flops(), of all queries.
  double product_flops(bool causal) const {
    const auto t = static_cast<double>(time);
    const double hidden = window == 0 || window >= time ? 0 : (t - static_cast<double>(window)) * (t - static_cast<double>(window) + 1) / 2;
    return 2 * static_cast<double>(batch * heads * head_size) * (causal ? t * (t + 1) / 2 - hidden : t * t);
  }
};

/// The operands of one layer's attention: q | k | v of a (B, T, (H + 2 key heads) D), y and dy of (B, T, H D), and the gradients.
class Operands {
 public:
  Operands(const Case& c, const Arguments& a)
      : c_(c),
        width_(c.heads * c.head_size),
        key_width_(c.key_heads * c.head_size),
        rows_(c.batch * c.time),
        rotation_(rotations(c)),
        qkv_(random(rows_ * (width_ + 2 * key_width_), 1)),
        dqkv_(qkv_.size()),
        y_(static_cast<std::size_t>(rows_ * width_)),
        dy_(random(rows_ * width_, 2)),
        log2_sum_(static_cast<std::size_t>(rows_ * c.heads)),
        shape_{.batch = c.batch,
               .heads = c.heads,
               .queries = c.time,
               .keys = c.time,
               .head_size = c.head_size,
               .key_heads = c.key_heads,
               .scale = 1 / std::sqrt(static_cast<double>(c.head_size)),
               .causal = !a.whole,
               .window = c.window,
               .dropout = a.dropout,
               .stream = RandomStream(1, "bench", 0)} {}

  void forward() {
    kernels::attention_forward<float>({.shape = shape_,
                                       .q = part<const float>(qkv_.data(), 0),
                                       .k = part<const float>(qkv_.data(), 1),
                                       .v = part<const float>(qkv_.data(), 2),
                                       .y = whole<float>(y_.data()),
                                       .log2_sum = log2_sum_.data(),
                                       .q_rotation = angles(),
                                       .k_rotation = angles()});
  }
  /// Attention of the last position only, as when generating one token at a time.
  void token() {
    kernels::AttentionShape last = shape_;
    last.queries = 1;
    last.query_offset = c_.time - 1;
    const auto at_last = [](auto heads, index row) {
      return decltype(heads){heads.data + row * heads.row_stride, heads.batch_stride, heads.row_stride};
    };
    kernels::attention_forward<float>({.shape = last,
                                       .q = at_last(part<const float>(qkv_.data(), 0), c_.time - 1),
                                       .k = part<const float>(qkv_.data(), 1),
                                       .v = part<const float>(qkv_.data(), 2),
                                       .y = at_last(whole<float>(y_.data()), c_.time - 1),
                                       .log2_sum = log2_sum_.data(),
                                       .q_rotation = angles() == nullptr ? nullptr : angles() + (c_.time - 1) * c_.head_size,
                                       .k_rotation = angles()});
  }
  void backward() {
    kernels::attention_backward<float>({.shape = shape_,
                                        .q = part<const float>(qkv_.data(), 0),
                                        .k = part<const float>(qkv_.data(), 1),
                                        .v = part<const float>(qkv_.data(), 2),
                                        .y = whole<const float>(y_.data()),
                                        .dy = whole<const float>(dy_.data()),
                                        .log2_sum = log2_sum_.data(),
                                        .dq = {part<float>(dqkv_.data(), 0)},
                                        .dk = {part<float>(dqkv_.data(), 1)},
                                        .dv = {part<float>(dqkv_.data(), 2)},
                                        .q_rotation = angles(),
                                        .k_rotation = angles()});
  }

 private:
  static std::vector<float> random(index count, std::uint64_t seed) {
    const RandomStream stream(seed, "bench", 0);
    std::vector<float> numbers(static_cast<std::size_t>(count));
    for (index i = 0; i < count; ++i) {
      numbers[static_cast<std::size_t>(i)] = static_cast<float>(stream.word(i) >> 8) * 0x1p-23F - 1;
    }
    return numbers;
  }
  /// Cosines and sines of each position, (T, D); empty without RoPE.
  static std::vector<float> rotations(const Case& c) {
    std::vector<float> rows;
    for (index t = 0; c.rope && t < c.time; ++t) {
      for (index d = 0; d < c.head_size; ++d) {
        const double angle =
            static_cast<double>(t) * std::pow(1e4, -2.0 * static_cast<double>(d % (c.head_size / 2)) / static_cast<double>(c.head_size));
        rows.push_back(static_cast<float>(d < c.head_size / 2 ? std::cos(angle) : std::sin(angle)));
      }
    }
    return rows;
  }
  const float* angles() const { return rotation_.empty() ? nullptr : rotation_.data(); }
  /// q, k or v.
  template <class T>
  kernels::Heads<T> part(T* data, index which) const {
    const index row = width_ + 2 * key_width_;
    return {data + (which == 0 ? 0 : width_ + (which - 1) * key_width_), c_.time * row, row};
  }
  template <class T>
  kernels::Heads<T> whole(T* data) const {
    return {data, c_.time * width_, width_};
  }

  Case c_;
  index width_, key_width_, rows_;
  std::vector<float> rotation_, qkv_, dqkv_, y_, dy_, log2_sum_;
  kernels::AttentionShape shape_;
};

/// As many runs as fit into the budget, but at least three.
template <class F>
Times timed(double budget, F&& f) {
  const double once = measure(1, 1, f).min;
  return measure(0, static_cast<int>(std::clamp(1e3 * budget / once, 3.0, 10'000.0)), f);
}

void run(const Arguments& a) {
  for (const index heads : a.heads) {
    for (const index key_heads : a.key_heads) {
      require_input(key_heads == 0 || heads % key_heads == 0, "--key-heads ", key_heads, " does not divide --heads ", heads);
    }
  }
  require_input(!a.whole || std::ranges::count(a.windows, 0) == std::ssize(a.windows), "--window with --whole, expected causal attention");
  for (const index size : a.head_size) {
    require_input(!a.rope || size % 2 == 0, "--head-size ", size, ", expected an even one with --rope");
  }
  // Print the head of the table.
  const double peak = peak_flops();
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  if (!a.json) {
    fmt::print("{} threads, {:.0f} GFLOP/s of FMA at most; {}, dropout {}\n\n", thread_count(), peak, a.whole ? "all keys seen" : "causal",
               a.dropout);
    fmt::print("{:>5} {:>5} {:>5} {:>5} {:>6} {:>6} {:>5}  {:<8} {:>10} {:>10} {:>10} {:>9} {:>8}\n", "batch", "heads", "keys'", "size",
               "time", "window", "rope", "pass", "median ms", "min", "max", "GFLOP/s", "of peak");
  }
  // Report one pass of a case.
  const auto report = [&](const Case& c, const char* pass, double flops, const Times& t) {
    const double rate = flops / t.median * 1e-6;
    if (!a.json) {
      fmt::print("{:>5} {:>5} {:>5} {:>5} {:>6} {:>6} {:>5}  {:<8} {:>10.4f} {:>10.4f} {:>10.4f} {:>9.1f} {:>7.1f}%\n", c.batch, c.heads,
                 c.key_heads, c.head_size, c.time, c.window, c.rope ? "yes" : "no", pass, t.median, t.min, t.max, rate, 100 * rate / peak);
      std::fflush(stdout);
    }
    rows.push_back({{"batch", c.batch},
                    {"heads", c.heads},
                    {"key_heads", c.key_heads},
                    {"head_size", c.head_size},
                    {"time", c.time},
                    {"window", c.window},
                    {"rope", c.rope},
                    {"pass", pass},
                    {"median_ms", t.median},
                    {"min_ms", t.min},
                    {"max_ms", t.max},
                    {"gflop_per_s", rate},
                    {"share_of_peak", rate / peak}});
  };
  const auto time_both = [&](const Case& c) {
    Operands operands(c, a);
    report(c, "forward", 2 * c.product_flops(!a.whole), timed(a.budget, [&] { operands.forward(); }));
    report(c, "backward", 5 * c.product_flops(!a.whole), timed(a.budget, [&] { operands.backward(); }));
    if (a.dropout == 0) {
      report(c, "token", 2 * c.token_flops(), timed(a.budget, [&] { operands.token(); }));
    }
  };
  // Time all combinations.
  for (const index batch : a.batch) {
    for (const index heads : a.heads) {
      for (const index head_size : a.head_size) {
        for (const index time : a.time) {
          for (const index key_heads : a.key_heads) {
            for (const index window : a.windows) {
              const Case plain{batch, heads, key_heads == 0 ? heads : key_heads, head_size, time, window, false};
              time_both(plain);
              if (a.rope) {
                Case rotated = plain;
                rotated.rope = true;
                time_both(rotated);
              }
            }
          }
        }
      }
    }
  }
  if (a.json) {
    const nlohmann::ordered_json object{
        {"threads", thread_count()}, {"peak_gflop_per_s", peak}, {"causal", !a.whole}, {"dropout", a.dropout}, {"rows", rows}};
    fmt::print("{}\n", object.dump());
  }
}

}  // namespace
}  // namespace dikkat::bench

int main(int argc, char** argv) {
  dikkat::bench::Arguments a;
  CLI::App app{
      "Times attention, forward, backward and for one more token, for all combinations of the given sizes. Rates count only scores that a "
      "query "
      "sees."};
  const auto sizes = [&](const char* name, std::vector<dikkat::index>& to, const char* what) {
    app.add_option(name, to, what)->delimiter(',')->capture_default_str()->check(CLI::Range(1, 1 << 20));
  };
  sizes("--batch", a.batch, "Sequences");
  sizes("--heads", a.heads, "Heads of queries");
  app.add_option("--key-heads", a.key_heads, "Heads of keys and values; 0: as many as of queries")
      ->delimiter(',')
      ->capture_default_str()
      ->check(CLI::Range(0, 1 << 20));
  sizes("--head-size", a.head_size, "Columns of a head");
  sizes("--time", a.time, "Queries, and keys");
  app.add_option("--window", a.windows, "Keys that a query sees at most; 0: all up to its own")
      ->delimiter(',')
      ->capture_default_str()
      ->check(CLI::Range(0, 1 << 20));
  app.add_option("--dropout", a.dropout, "Dropout probability of the attention weights")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 0.999));
  app.add_flag("--rope", a.rope, "Also with queries and keys that are rotated");
  app.add_flag("--whole", a.whole, "Every query sees all keys (default: causal)");
  app.add_option("--budget", a.budget, "Seconds for each case and pass")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_flag("--json", a.json, "Print one JSON object");
  return dikkat::bench::run_program(app, argc, argv, [&] { dikkat::bench::run(a); });
}
