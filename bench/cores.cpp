// How much faster can a training step be on more cores? Runs the step as 1 to 128 threads would, one after the other on one core, and
// prints for each op the speed-up that the longest share of every parallel loop allows: the ceiling of what that many cores can reach.
#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/base/seconds_since.h"
#include "autograd/base/simulated_threads.h"
#include "bench/program.h"
#include "bench/training_step.h"

namespace dikkat::bench {
namespace {

struct Arguments {
  std::string config;
  std::vector<std::string> set;
  index vocab_size = 65;
  std::vector<int> threads = {2, 4, 8, 16, 32, 64, 128};
  double loop_us = 5;
  int steps = 3;
  bool json = false;
};

/// What an op did in one step: the loops of several threads, and the seconds outside of them.
struct OpTimes {
  std::string name{};
  double serial = 0;
  std::vector<LoopTimes> loops{};

  double in_loops() const {
    return std::accumulate(loops.begin(), loops.end(), 0.0, [](double sum, const LoopTimes& loop) { return sum + loop.sum(); });
  }
  double on(int threads, double loop_seconds) const {
    return std::accumulate(loops.begin(), loops.end(), serial,
                           [&](double sum, const LoopTimes& loop) { return sum + loop.longest(threads) + loop_seconds; });
  }
  /// Keeps the lesser time of each part: others use the machine, too.
  void take_least(const OpTimes& other) {
    serial = std::min(serial, other.serial);
    for (std::size_t i = 0; i < loops.size(); ++i) {
      std::transform(loops[i].seconds.begin(), loops[i].seconds.end(), other.loops[i].seconds.begin(), loops[i].seconds.begin(),
                     [](double a, double b) { return std::min(a, b); });
    }
  }
};

/// The ops of one step, in order.
class StepTimes : public TapeObserver {
 public:
  explicit StepTimes(const SimulatedThreads& threads) : threads_(threads) {}

  void begin() {
    start_ = Clock::now();
    first_loop_ = threads_.loops().size();
  }
  void end(std::string name) {
    const double all = seconds_since(start_);
    OpTimes op{.name = std::move(name)};
    op.loops.assign(threads_.loops().begin() + static_cast<std::ptrdiff_t>(first_loop_), threads_.loops().end());
    op.serial = std::max(all - op.in_loops(), 0.0);
    ops_.push_back(std::move(op));
  }
  void forward_begins() override { begin(); }
  void forward_ends(const OpRun& run) override { end(fmt::format("{} forward", run.op)); }
  void backward_begins() override { begin(); }
  void backward_ends(const OpRun& run) override { end(fmt::format("{} backward", run.op)); }

  const std::vector<OpTimes>& ops() const { return ops_; }

 private:
  using Clock = std::chrono::steady_clock;
  const SimulatedThreads& threads_;
  Clock::time_point start_;
  std::size_t first_loop_ = 0;
  std::vector<OpTimes> ops_;
};

constexpr const char* kAll = "whole step";

/// Seconds of each op in a step.
std::map<std::string, double> measure_ops(TrainingStep& step, int threads, const Arguments& a) {
  std::vector<OpTimes> least;
  for (int i = 0; i < a.steps; ++i) {
    const SimulatedThreads simulated(threads);
    StepTimes times(simulated);
    step.tape().observe(&times);
    step.run([&](auto&& update) {
      times.begin();
      update();
      times.end("optimizer");
    });
    step.tape().observe(nullptr);
    least.resize(times.ops().size());
    for (std::size_t op = 0; op < least.size(); ++op) {
      if (i == 0) {
        least[op] = times.ops()[op];
      } else {
        least[op].take_least(times.ops()[op]);
      }
    }
  }
  std::map<std::string, double> seconds;
  for (const OpTimes& op : least) {
    const double own = op.on(threads, a.loop_us * 1e-6);
    seconds[op.name] += own;
    seconds[kAll] += own;
  }
  return seconds;
}

void run(const Arguments& a) {
  TrainingStep step(load_model_config(a.config, a.set, a.vocab_size));
  {
    const WithThreads one(1);
    step.run();  // maps memory,
    step.run();  // and again, all of it in one piece
  }
  const auto alone = measure_ops(step, 1, a);
  std::vector<std::map<std::string, double>> together;
  together.reserve(a.threads.size());
  for (const int threads : a.threads) {
    together.push_back(measure_ops(step, threads, a));
  }

  std::vector<std::pair<double, std::string>> names;
  for (const auto& [name, seconds] : alone) {
    names.emplace_back(seconds, name);
  }
  std::sort(names.rbegin(), names.rend());
  if (a.json) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const auto& [seconds, name] : names) {
      nlohmann::ordered_json speed_up;
      for (std::size_t i = 0; i < a.threads.size(); ++i) {
        speed_up[std::to_string(a.threads[i])] = seconds / together[i].at(name);
      }
      rows.push_back({{"op", name}, {"ms_on_one_thread", 1e3 * seconds}, {"speed_up", speed_up}});
    }
    fmt::print("{}\n", rows.dump());
    return;
  }
  fmt::print("{}: ceilings of the speed-up, with {} microseconds for each parallel loop\n\n{:<32}{:>13}", a.config, a.loop_us, "threads",
             "1");
  for (const int threads : a.threads) {
    fmt::print("{:>8}", threads);
  }
  fmt::print("\n");
  for (const auto& [seconds, name] : names) {
    fmt::print("{:<32}{:>10.2f} ms", name, 1e3 * seconds);
    for (const auto& times : together) {
      fmt::print("{:>8.1f}", seconds / times.at(name));
    }
    fmt::print("\n");
  }
  fmt::print("{:<32}{:>13}", "of linear", "");
  for (std::size_t i = 0; i < a.threads.size(); ++i) {
    fmt::print("{:>8.2f}", alone.at(kAll) / together[i].at(kAll) / a.threads[i]);
  }
  fmt::print("\n");
}

}  // namespace
}  // namespace dikkat::bench

int main(int argc, char** argv) {
  dikkat::bench::Arguments a;
  CLI::App app{"Computes how much faster training steps can be on more cores, from the time that each share of each loop takes on one."};
  app.add_option("--config", a.config, "Configuration file (TOML)")->required();
  app.add_option("--set", a.set, "section.key=value: overrides the configuration file");
  app.add_option("--vocab-size", a.vocab_size, "Vocabulary size if the configuration does not set model.vocab_size")->capture_default_str();
  app.add_option("--threads", a.threads, "Numbers of threads")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--loop-us", a.loop_us, "Microseconds that starting and ending a parallel loop takes")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  app.add_option("--steps", a.steps, "Steps for each number, of which the least time of each tile counts")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_flag("--json", a.json, "Print one JSON object");
  return dikkat::bench::run_program(app, argc, argv, [&] { dikkat::bench::run(a); });
}
