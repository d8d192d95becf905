// How does the cost of a step grow with length, width, vocabulary and threads? Starts from the character model and changes one of them at a
// time. Measures time and peak memory of bench_step, in its own process for each point. Prints a Markdown table; --svg writes a plot.
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/base/cores.h"
#include "autograd/base/error.h"
#include "autograd/base/index.h"
#include "bench/plot.h"
#include "bench/program.h"

namespace dikkat::bench {
namespace {

constexpr index kTokens = 1024;      // of a step
constexpr index kLongTokens = 8192;  // of a step, if the length varies
constexpr index kHeadSize = 32;

struct Arguments {
  std::string config = "configs/shakespeare-char.toml", svg;
  int steps = 7;
};

/// One point of the plot: the character model with one of these changed.
struct Sizes {
  index tokens = kTokens, time = 64, width = 128, vocabulary = 65;
  int threads = usable_cores();
};

struct Sweep {
  const char* name;
  const char* colour;
  std::vector<index> values;
  void (*set)(Sizes&, index);
};

std::vector<index> threads_to(int cores) {
  std::vector<index> values;
  for (index threads = 1; threads < cores; threads *= 2) {
    values.push_back(threads);
  }
  values.push_back(cores);
  return values;
}

struct Cost {
  double ms = 0, mb = 0, gflop = 0, share = 0;
};

Cost measure_step(const Arguments& a, const Sizes& s) {
  const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "bench_step";
  const std::string command = fmt::format(
      "OMP_NUM_THREADS={} '{}' --config '{}' --steps {} --warmup 2 --json --set model.block_size={} train.batch_size={} model.n_embd={} "
      "model.n_head={} model.vocab_size={} train.gradient_accumulation_steps=1",
      s.threads, program.string(), a.config, a.steps, s.time, std::max<index>(s.tokens / s.time, 1), s.width,
      std::max<index>(s.width / kHeadSize, 1), s.vocabulary);
  std::FILE* pipe = ::popen(command.c_str(), "r");
  require(pipe != nullptr, "cannot start ", program.string());
  std::string text;
  std::array<char, 4096> part{};
  while (const std::size_t count = std::fread(part.data(), 1, part.size(), pipe)) {
    text.append(part.data(), count);
  }
  require(::pclose(pipe) == 0, program.string(), " failed");
  const auto object = nlohmann::json::parse(text);
  const auto number = [&](const char* name) { return object.at(name).get<double>(); };
  return {number("ms_median"), number("peak_bytes") * 1e-6, number("gflop"), number("gflop_per_s") / number("peak_gflop_per_s")};
}

void run(const Arguments& a) {
  const Sweep sweeps[] = {
      {"length T",
       "#1f77b4",
       {64, 128, 256, 512, 1024, 2048, 4096, 8192},
       [](Sizes& s, index v) {
         s.time = v;
         s.tokens = kLongTokens;
       }},
      {"width C", "#d62728", {128, 256, 512, 768, 1024, 1600}, [](Sizes& s, index v) { s.width = v; }},
      {"vocabulary V", "#2ca02c", {65, 256, 1024, 4096, 16384, 50257}, [](Sizes& s, index v) { s.vocabulary = v; }},
      {"threads", "#9467bd", threads_to(usable_cores()), [](Sizes& s, index v) { s.threads = static_cast<int>(v); }},
  };
  // The plot has a curve of times and one of memory for each sweep.
  Plot plot{.title = fmt::format("A step of {} tokens; of {} where the length varies", kTokens, kLongTokens),
            .x_label = "length, width, vocabulary or threads; the others as in the character model",
            .y_label = "ms a step (whole lines), peak MB (dashed)",
            .note = fmt::format("bench_scaling, {} cores, medians of {} steps", usable_cores(), a.steps),
            .curves = {}};
  fmt::print("| varied | value | ms a step | tokens/s | GFLOP | of the FMA peak | peak MB |\n|---|---|---|---|---|---|---|\n");
  int marker = 0;
  for (const Sweep& sweep : sweeps) {
    const auto curve = [&](const char* what, const char* dashes) {
      return Curve{
          .name = fmt::format("{}: {}", sweep.name, what), .colour = sweep.colour, .marker = marker, .dashes = dashes, .points = {}};
    };
    Curve time = curve("ms", ""), memory = curve("MB", "5 4");
    for (const index value : sweep.values) {
      Sizes sizes;
      sweep.set(sizes, value);
      const Cost cost = measure_step(a, sizes);
      fmt::print("| {} | {} | {:.1f} | {:.0f} | {:.1f} | {:.0f} % | {:.0f} |\n", sweep.name, value, cost.ms,
                 static_cast<double>(sizes.tokens) / cost.ms * 1e3, cost.gflop, 100 * cost.share, cost.mb);
      std::fflush(stdout);
      time.points.push_back({static_cast<double>(value), cost.ms});
      memory.points.push_back({static_cast<double>(value), cost.mb, true});
    }
    plot.curves.push_back(std::move(time));
    plot.curves.push_back(std::move(memory));
    ++marker;
  }
  if (!a.svg.empty()) {
    std::ofstream file(a.svg);
    require(static_cast<bool>(file << log_log_svg(plot) << std::flush), a.svg, ": cannot be written");
  }
}

}  // namespace
}  // namespace dikkat::bench

int main(int argc, char** argv) {
  dikkat::bench::Arguments a;
  CLI::App app{"Times steps of the character model with growing length, width, vocabulary and number of threads, one at a time."};
  app.add_option("--config", a.config, "Configuration file of the model")->capture_default_str();
  app.add_option("--svg", a.svg, "Write a plot to this SVG file");
  app.add_option("--steps", a.steps, "Timed steps at each point")->capture_default_str()->check(CLI::PositiveNumber);
  return dikkat::bench::run_program(app, argc, argv, [&] { dikkat::bench::run(a); });
}
