// Compares self-attention, O(n^2 d), with recurrent layers, O(n d^2), on sequences of n vectors of width d. How long do they take on this
// machine, and which share of its peak do they reach? Forward passes, f32, one sequence.
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>

#include "autograd/base/parallel.h"
#include "autograd/kernels/attention/attention.h"
#include "autograd/kernels/elementwise.h"
#include "autograd/kernels/gemm/gemm.h"
#include "bench/machine.h"
#include "bench/measure.h"
#include "bench/plot.h"
#include "bench/program.h"
#include "layers/recurrent.h"
#include "train/system/format_numbers.h"

namespace dikkat::bench {
namespace {

constexpr index kHeadSize = 128;
constexpr index kDocumentN = 32768, kDocumentD = 12288;
constexpr double kDocumentSeconds = 23.117244005203247;

struct Arguments {
  std::vector<index> n = {128, 256, 512, 1024, 2048, 4096}, d = {256, 1024};
  bool full = false, json = false;
  double budget = 5;
  std::string plot;
};

enum class Method { scores, attention, rnn, gru };
constexpr Method kMethods[] = {Method::scores, Method::attention, Method::rnn, Method::gru};

const char* name_of(Method method) {
  switch (method) {
    case Method::scores: return "scores X X^T";
    case Method::attention: return "causal attention";
    case Method::rnn: return "tanh RNN";
    case Method::gru: return "GRU";
  }
  return "?";
}
/// The unit in which the work of a case is divided; a part of a case is a number of units.
const char* unit_of(Method method) { return method == Method::scores ? "rows" : method == Method::attention ? "heads" : "steps"; }
index gates_of(Method method) { return method == Method::gru ? 3 : 1; }

/// FLOPs of matrix products; a multiply-add counts as two. For attention, only keys that a query sees count.
double flops_of(Method method, index n_, index d_) {
  const auto n = static_cast<double>(n_);
  const auto d = static_cast<double>(d_);
  switch (method) {
    case Method::scores: return 2 * n * n * d;
    case Method::attention: return 2 * n * (n + 1) * d;  // q k^T, and weights times v
    default: return 4 * static_cast<double>(gates_of(method)) * n * d * d;
  }
}

/// Bytes of operands and results of the whole case, without workspace and tape.
double bytes_of(Method method, index n_, index d_) {
  const auto n = static_cast<double>(n_);
  const auto d = static_cast<double>(d_);
  switch (method) {
    case Method::scores: return 4 * (n * d + n * n);
    case Method::attention: return 4 * (4 * n * d);
    default: return 4 * (2 * n * d + 2 * static_cast<double>(gates_of(method)) * d * d);
  }
}

struct Row {
  Method method;
  index n, d;
  double seconds;    // of the whole case, scaled if only a part was run
  index ran, total;  // of unit_of(method)

  bool scaled() const { return ran < total; }
  double gflop() const { return flops_of(method, n, d) * 1e-9; }
  bool is_document() const { return method == Method::scores && n == kDocumentN && d == kDocumentD; }
  /// GB/s of reading weight_hh, which a recurrence reads completely in every step.
  std::optional<double> weight_gb_s() const {
    if (method == Method::scores || method == Method::attention) {
      return {};
    }
    return 4e-9 * static_cast<double>(n * gates_of(method) * d * d) / seconds;
  }
};

std::span<float> floats(const Pages& pages) { return {reinterpret_cast<float*>(pages.data()), pages.size() / sizeof(float)}; }

/// Numbers uniform in [-1, 1).
Pages random_floats(index count, std::uint64_t seed) {
  Pages pages(static_cast<std::size_t>(count) * sizeof(float), "operand");
  const RandomStream stream(seed, "bench", 0);
  const auto out = floats(pages);
  constexpr index kWords = index{4} * RandomStream::kGroups;
  parallel_blocks(count, kWords, [&](index begin, index end) {
    std::uint32_t words[kWords];
    stream.groups(begin / 4, words);
    for (index i = begin; i < end; ++i) {
      out[static_cast<std::size_t>(i)] = static_cast<float>(words[i - begin] >> 8) * 0x1p-23F - 1;
    }
  });
  return pages;
}

struct Timing {
  double seconds;
  index ran;
};

/// Times run(units), and returns the best of at least three runs. units is at most `total`, and small enough that three runs fit into the
/// budget. A first run of `probe` units measures how long one takes. With `whole`, all units run.
template <class F>
Timing timed(index total, index probe, double budget, bool whole, F&& run) {
  constexpr int kRuns = 3, kMostRuns = 15;
  probe = std::min(probe, total);
  const double unit = measure(1, 1, [&] { run(probe); }).min * 1e-3 / static_cast<double>(probe);
  const double fitting = budget / kRuns / unit;
  const index ran = whole || fitting >= static_cast<double>(total) ? total : std::max(probe, static_cast<index>(fitting) / probe * probe);
  const double fit = std::floor(budget / (unit * static_cast<double>(ran)));
  const Times times = measure(0, static_cast<int>(std::clamp<double>(fit, 1, kMostRuns)), [&] { run(ran); });
  return {times.min * 1e-3 * static_cast<double>(total) / static_cast<double>(ran), ran};
}

Timing time_scores(index n, index d, double budget, bool whole) {
  const Pages x = random_floats(n * d, 1);
  const Pages scores(static_cast<std::size_t>(n * n) * sizeof(float), "scores");
  if (whole) {  // it runs once, so its memory must be mapped before
    kernels::fill<float>(n * n, 0, {floats(scores).data()});
  }
  return timed(n, 512, budget, whole, [&](index rows) {
    kernels::gemm<float>({.m = rows,
                          .n = n,
                          .k = d,
                          .a = floats(x).data(),
                          .lda = d,
                          .b = floats(x).data(),
                          .ldb = d,
                          .transpose_b = true,
                          .c = floats(scores).data(),
                          .ldc = n});
  });
}

Timing time_attention(index n, index d, double budget) {
  const Pages q = random_floats(n * d, 1), k = random_floats(n * d, 2), v = random_floats(n * d, 3);
  const Pages y(static_cast<std::size_t>(n * d) * sizeof(float), "attention");
  const index heads = d / kHeadSize;
  std::vector<float> log2_sum(static_cast<std::size_t>(heads * n));
  const auto heads_in = [&](const Pages& x) { return kernels::Heads<const float>{floats(x).data(), n * d, d}; };
  return timed(heads, 1, budget, false, [&](index some) {
    kernels::attention_forward<float>({.shape = {.batch = 1,
                                                 .heads = some,
                                                 .queries = n,
                                                 .keys = n,
                                                 .head_size = kHeadSize,
                                                 .scale = 1 / std::sqrt(static_cast<double>(kHeadSize)),
                                                 .causal = true,
                                                 .stream = {}},
                                       .q = heads_in(q),
                                       .k = heads_in(k),
                                       .v = heads_in(v),
                                       .y = {floats(y).data(), n * d, d},
                                       .log2_sum = log2_sum.data()});
  });
}

class Report {
 public:
  explicit Report(const Arguments& a) : arguments_(a), peak_(peak_flops()), copy_(copy_bandwidth()), load_before_(load_average()) {
    if (!a.json) {
      fmt::print("{} threads: {:.0f} GFLOP/s of FMA at most, {:.1f} GB/s of copying; load average {:.2f}\n\n", thread_count(), peak_, copy_,
                 load_before_);
      fmt::print("{:<18} {:>6} {:>6} {:>12} {:>12} {:>9} {:>8} {:>10}\n", "method", "n", "d", "seconds", "GFLOP", "GFLOP/s", "of peak",
                 "memory");
    }
  }

  void add(const Row& row) {
    rows_.push_back(row);
    if (arguments_.json) {
      return;
    }
    print_line(name_of(row.method), row, row.seconds, fmt::format("{:.1f} %", 100 * share(row)), note_of(row));
    if (row.is_document()) {
      print_line("the document's", row, kDocumentSeconds, "", "TPU v2, as printed there; see bench/results/attention-vs-recurrence.md");
    }
  }

  void finish() const {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const double peak_bytes = static_cast<double>(usage.ru_maxrss) * 1024;
    if (arguments_.json) {
      print_json(peak_bytes);
    } else {
      fmt::print("\n{:.2f} GB in memory at most; load average {:.2f}\n", peak_bytes * 1e-9, load_average());
    }
    if (!arguments_.plot.empty()) {
      std::ofstream file(arguments_.plot);
      file << log_log_svg(plot());
      require(file.flush().good(), "plot: cannot write ", arguments_.plot);
    }
  }

 private:
  static double load_average() {
    double load = 0;
    return getloadavg(&load, 1) == 1 ? load : std::nan("");
  }
  double share(const Row& row) const { return row.gflop() / row.seconds / peak_; }

  static std::string note_of(const Row& row) {
    std::string note;
    if (row.scaled()) {
      note = fmt::format("{} of {} {}, scaled", row.ran, row.total, unit_of(row.method));
    }
    if (const auto rate = row.weight_gb_s()) {
      note += fmt::format("{}weight_hh at {:.1f} GB/s", note.empty() ? "" : "; ", *rate);
    }
    return note;
  }

  static void print_line(const char* name, const Row& row, double seconds, const std::string& share, const std::string& note) {
    fmt::print("{:<18} {:>6} {:>6} {:>12.6f} {:>12.3f} {:>9.1f} {:>8} {:>7.3f} GB  {}\n", name, row.n, row.d, seconds, row.gflop(),
               row.gflop() / seconds, share, bytes_of(row.method, row.n, row.d) * 1e-9, note);
    std::fflush(stdout);
  }

  void print_json(double peak_bytes) const {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const Row& row : rows_) {
      rows.push_back({{"method", name_of(row.method)},
                      {"n", row.n},
                      {"d", row.d},
                      {"seconds", row.seconds},
                      {"gflop", row.gflop()},
                      {"gflop_per_s", row.gflop() / row.seconds},
                      {"share_of_peak", share(row)},
                      {"bytes", bytes_of(row.method, row.n, row.d)},
                      {"unit", unit_of(row.method)},
                      {"units_run", row.ran},
                      {"units", row.total},
                      {"scaled", row.scaled()}});
      if (const auto rate = row.weight_gb_s()) {
        rows.back()["weight_gb_per_s"] = *rate;
      }
      if (row.is_document()) {
        rows.back()["document_seconds"] = kDocumentSeconds;
      }
    }
    const nlohmann::ordered_json object{{"threads", thread_count()},
                                        {"peak_gflop_per_s", peak_},
                                        {"copy_gb_per_s", copy_},
                                        {"load_average_before", load_before_},
                                        {"load_average_after", load_average()},
                                        {"peak_bytes", peak_bytes},
                                        {"rows", rows}};
    fmt::print("{}\n", object.dump());
  }

  /// A method has a color, lighter for small d, and a marker; a width has a pattern of dashes.
  Plot plot() const {
    static constexpr const char* kColors[4][4] = {{"#08306b", "#2171b5", "#5aa3d8", "#8fc4ea"},
                                                  {"#7f2704", "#d94801", "#f58634", "#fdb06f"},
                                                  {"#00441b", "#238b45", "#56b56e", "#94d298"},
                                                  {"#3f007d", "#6a51a3", "#9485c4", "#bcb6dc"}};
    static constexpr const char* kDashes[4] = {"", "8 3", "4 3", "1.5 3"};
    // Sort the widths, the largest first.
    std::vector<index> widths;
    for (const Row& row : rows_) {
      widths.push_back(row.d);
    }
    std::sort(widths.begin(), widths.end(), std::greater<>());
    widths.erase(std::unique(widths.begin(), widths.end()), widths.end());
    Plot plot{
        .title = "A sequence of n vectors of width d: attention and recurrence",
        .x_label = "n, vectors in the sequence",
        .y_label = "seconds, forward",
        .note = fmt::format("f32, {} threads, {:.0f} GFLOP/s at most. Hollow: a part was run, and its time scaled.", thread_count(), peak_),
        .curves = {}};
    // Add a curve for each method and width.
    for (const Method method : kMethods) {
      for (std::size_t w = 0; w < widths.size(); ++w) {
        const auto m = static_cast<std::size_t>(method);
        const std::size_t shade = std::min<std::size_t>(w, 3);
        Curve curve{.name = fmt::format("{}, d = {}", method == Method::scores ? "scores XXᵀ" : name_of(method), grouped_digits(widths[w])),
                    .color = kColors[m][shade],
                    .marker = static_cast<int>(m),
                    .dashes = kDashes[shade],
                    .points = {}};
        for (const Row& row : rows_) {
          if (row.method == method && row.d == widths[w]) {
            curve.points.push_back({static_cast<double>(row.n), row.seconds, row.scaled()});
          }
        }
        plot.curves.push_back(std::move(curve));
      }
    }
    // Add the document's figure, if it was part of the run.
    if (std::any_of(rows_.begin(), rows_.end(), [](const Row& row) { return row.is_document(); })) {
      plot.curves.push_back({.name = "the document's TPU v2",
                             .color = "#c00000",
                             .marker = 4,
                             .dashes = "",
                             .points = {{static_cast<double>(kDocumentN), kDocumentSeconds, false}}});
    }
    return plot;
  }

  const Arguments& arguments_;
  double peak_, copy_, load_before_;
  std::vector<Row> rows_;
};

/// A layer of width d, constructed once for all lengths.
template <class Layer>
void time_recurrence(Method method, index d, const std::vector<index>& lengths, double budget, Report& report) {
  ParameterStore store;
  const Layer layer(Scope(store), d, d);
  store.allocate(1);
  for (const index n : lengths) {
    Pages x;
    Tape tape(Recording::off);
    // Use at least 64 steps: the product of the inputs packs weight_ih once, whatever the number of steps.
    const Timing t = timed(n, 64, budget, false, [&](index steps) {
      const index count = steps * d;
      if (static_cast<index>(floats(x).size()) < count) {
        x = random_floats(count, 1);
      }
      Pass pass{.tape = tape};
      layer(pass, tape.input<float>({1, steps, d}, std::span<const float>(floats(x).first(static_cast<std::size_t>(count)))));
      tape.reset();
    });
    report.add({method, n, d, t.seconds, t.ran, n});
  }
}

/// Widths, each with its lengths, both rising.
std::map<index, std::vector<index>> grid_of(const Arguments& a) {
  std::map<index, std::vector<index>> grid;
  for (const index d : a.d) {
    grid[d] = a.n;
  }
  if (a.full) {
    grid[kDocumentD].push_back(kDocumentN);
  }
  for (auto& [d, lengths] : grid) {
    std::sort(lengths.begin(), lengths.end());
    lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  }
  return grid;
}

/// Each case frees its memory before the next one begins.
void run(const Arguments& a) {
  Report report(a);
  for (const auto& [d, lengths] : grid_of(a)) {
    for (const index n : lengths) {
      const bool whole = a.full && n == kDocumentN && d == kDocumentD;
      const Timing t = time_scores(n, d, a.budget, whole);
      report.add({Method::scores, n, d, t.seconds, t.ran, n});
    }
    for (const index n : lengths) {
      const Timing t = time_attention(n, d, a.budget);
      report.add({Method::attention, n, d, t.seconds, t.ran, d / kHeadSize});
    }
    time_recurrence<Recurrent>(Method::rnn, d, lengths, a.budget, report);
    time_recurrence<Gru>(Method::gru, d, lengths, a.budget, report);
  }
  report.finish();
}

}  // namespace
}  // namespace dikkat::bench

int main(int argc, char** argv) {
  dikkat::bench::Arguments a;
  CLI::App app{"Times self-attention against recurrent layers: forward, f32, one sequence of n vectors of width d."};
  app.add_option("--n", a.n, "Lengths")->delimiter(',')->capture_default_str()->check(CLI::Range(1, 1 << 20));
  app.add_option("--d", a.d, "Widths; multiples of 128, the size of a head")
      ->delimiter(',')
      ->capture_default_str()
      ->check(CLI::Range(128, 1 << 16))
      ->check([](const std::string& d) { return std::stoll(d) % dikkat::bench::kHeadSize == 0 ? "" : d + " is not a multiple of 128"; });
  app.add_flag("--full", a.full, "Also n = 32768, d = 12288, which takes 15 GB");
  app.add_option("--budget", a.budget, "Seconds for each case; for longer cases a part is timed and scaled")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_flag("--json", a.json, "Print one JSON object");
  app.add_option("--plot", a.plot, "Write a plot of seconds against n to this SVG file");
  return dikkat::bench::run_program(app, argc, argv, [&] { dikkat::bench::run(a); });
}
