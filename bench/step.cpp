// How long does one optimizer step take? It consists of forward, backward, clipping and the optimizer of the model in a configuration, on
// random tokens.
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>

#include "autograd/base/parallel.h"
#include "bench/machine.h"
#include "bench/measure.h"
#include "bench/model.h"
#include "bench/program.h"
#include "train/model/model_flops.h"
#include "train/model/precision.h"

namespace dikkat::bench {
namespace {

struct Arguments {
  std::string config;
  std::vector<std::string> set;
  index vocab_size = 65;  // for a configuration that leaves it to a tokenizer
  int steps = 50, warmup = 5;
  bool json = false;
};

void run(const Arguments& a) {
  RandomStep step(load_model_config(a.config, a.set, a.vocab_size));
  const Config& c = step.config();
  const double peak = operand_type(c.train) == DType::bf16 ? bf16_peak_flops() : peak_flops();
  const Times times = measure(a.warmup, a.steps, [&] { step.run(); });

  // Print the times, the rate and the memory.
  const double flops = training_flops(step.model(), step.batch()) * static_cast<double>(c.train.gradient_accumulation_steps);
  const double rate = flops / times.median * 1e-6;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  if (a.json) {
    const nlohmann::ordered_json object{{"config", a.config},
                                        {"threads", thread_count()},
                                        {"steps", a.steps},
                                        {"ms_median", times.median},
                                        {"ms_min", times.min},
                                        {"ms_max", times.max},
                                        {"gflop", flops * 1e-9},
                                        {"gflop_per_s", rate},
                                        {"peak_gflop_per_s", peak},
                                        {"parameters", step.model().parameters().parameter_count()},
                                        {"peak_bytes", usage.ru_maxrss * 1024},
                                        {"activation_bytes", step.tape().activation_bytes()},
                                        {"gradient_bytes", step.tape().gradient_bytes()}};
    fmt::print("{}\n", object.dump());
  } else {
    fmt::print(
        "{}: {:.2f} ms a step (min {:.2f}, max {:.2f}; {} steps, {} threads), {:.0f} GFLOP/s, {:.0f} % of the FMA peak, {:.0f} MB at "
        "most\n",
        a.config, times.median, times.min, times.max, a.steps, thread_count(), rate, 100 * rate / peak,
        static_cast<double>(usage.ru_maxrss) * 1024e-6);
  }
}

}  // namespace
}  // namespace dikkat::bench

int main(int argc, char** argv) {
  dikkat::bench::Arguments a;
  CLI::App app{"Times training steps of the model in a configuration, on random tokens."};
  app.add_option("--config", a.config, "Configuration file (TOML)")->required();
  app.add_option("--set", a.set, "section.key=value: overrides the configuration file");
  app.add_option("--vocab-size", a.vocab_size, "Vocabulary size if the configuration does not set model.vocab_size")->capture_default_str();
  app.add_option("--steps", a.steps, "Timed steps")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--warmup", a.warmup, "Untimed steps before them")->capture_default_str();
  app.add_flag("--json", a.json, "Print one JSON object");
  return dikkat::bench::run_program(app, argc, argv, [&] { dikkat::bench::run(a); });
}
