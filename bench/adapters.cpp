// How much of the time of a step of all weights does a step with adapters (LoRA) take? One process holds both models, which step in turn,
// on random tokens.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/base/parallel.h"
#include "bench/measure.h"
#include "bench/model.h"
#include "bench/program.h"

namespace dikkat::bench {
namespace {

struct Arguments {
  std::string config = "configs/smollm2-135m.toml";
  std::vector<std::string> set{"train.batch_size=1", "train.gradient_accumulation_steps=1", "model.block_size=512"};
  std::vector<std::string> adapters{"16:all", "8:attention"};
  int rounds = 10, warmup = 2;
  bool json = false;
};

/// "16:all" are adapters of rank 16 on all layers.
std::unique_ptr<RandomStep> step_with(const Arguments& a, const std::string& adapters) {
  std::vector<std::string> set = a.set;
  if (!adapters.empty()) {
    const std::size_t colon = adapters.find(':');
    require_input(colon != std::string::npos, "--adapters ", adapters, ", expected RANK:LAYERS, such as 16:all");
    set.push_back("lora.rank=" + adapters.substr(0, colon));
    set.push_back("lora.targets=" + adapters.substr(colon + 1));
  }
  return std::make_unique<RandomStep>(load_model_config(a.config, set, 256));
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void run(const Arguments& a) {
  const std::unique_ptr<RandomStep> full = step_with(a, "");
  nlohmann::ordered_json lines = nlohmann::ordered_json::array();
  // Both models step in turn, so that changes of the machine's speed affect both.
  for (const std::string& adapters : a.adapters) {
    const std::unique_ptr<RandomStep> adapted = step_with(a, adapters);
    std::vector<double> of_full, of_adapted, ratios;
    for (int round = -a.warmup; round < a.rounds; ++round) {
      const double all = measure(0, 1, [&] { full->run(); }).median;
      const double low = measure(0, 1, [&] { adapted->run(); }).median;
      if (round >= 0) {
        of_full.push_back(all);
        of_adapted.push_back(low);
        ratios.push_back(low / all);
      }
    }
    // Report the medians, and the range of the pairs' ratios.
    const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
    lines.push_back({{"adapters", adapters},
                     {"threads", thread_count()},
                     {"rounds", a.rounds},
                     {"all_weights_ms", median(of_full)},
                     {"adapters_ms", median(of_adapted)},
                     {"ratio", median(ratios)},
                     {"ratio_min", *least},
                     {"ratio_max", *most}});
    if (!a.json) {
      fmt::print(
          "rank and layers {}: {:.0f} ms a step, all weights {:.0f} ms: {:.2f} of it (median of {} pairs, {:.2f} to {:.2f}; {} threads)\n",
          adapters, median(of_adapted), median(of_full), median(ratios), a.rounds, *least, *most, thread_count());
    }
  }
  if (a.json) {
    fmt::print("{}\n", lines.dump());
  }
}

}  // namespace
}  // namespace dikkat::bench

int main(int argc, char** argv) {
  dikkat::bench::Arguments a;
  CLI::App app{"Times training steps with adapters beside those of all weights, in turn, on random tokens."};
  app.add_option("--config", a.config, "Configuration file (TOML)")->capture_default_str();
  app.add_option("--set", a.set, "section.key=value: overrides the configuration file")->capture_default_str();
  app.add_option("--adapters", a.adapters, "Their rank and layers")->capture_default_str();
  app.add_option("--rounds", a.rounds, "Timed pairs of steps")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--warmup", a.warmup, "Untimed pairs before them")->capture_default_str();
  app.add_flag("--json", a.json, "Print one JSON array");
  return dikkat::bench::run_program(app, argc, argv, [&] { dikkat::bench::run(a); });
}
