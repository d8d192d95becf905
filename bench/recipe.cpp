// How long does a whole run take? It is everything that `dikkat train` does with a configuration: reading, steps, evaluations, checkpoints.
#include <chrono>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "autograd/base/parallel.h"
#include "autograd/base/seconds_since.h"
#include "bench/machine.h"
#include "bench/measure.h"
#include "bench/program.h"
#include "train/config/override.h"
#include "train/config/parse.h"
#include "train/config/resolve.h"
#include "train/model/model_flops.h"
#include "train/run/trainer.h"

namespace dikkat::bench {
namespace {

struct Arguments {
  std::string config = "configs/shakespeare-char.toml";
  std::vector<std::string> corpus, set;
  int runs = 3, warmup = 0;
  bool json = false;
};

/// The seconds that each part of a run took.
struct Account : TrainingEvents {
  void stepped(const StepReport& report) override { steps += report.seconds; }
  void evaluated(const EvaluationReport& report) override {
    evaluations += report.seconds;
    best = std::min(best, report.val_loss);
  }
  double start_up = 0, steps = 0, evaluations = 0, all = 0, gflop = 0;
  double best = std::numeric_limits<double>::infinity();
  double rest() const { return all - start_up - steps - evaluations; }  // saving, and writing metrics
};

Config config_of(const Arguments& a) {
  Config config = load_config(a.config);
  for (const std::string& assignment : a.set) {
    apply_override(config, assignment);
  }
  if (!a.corpus.empty()) {
    config.data.corpus = a.corpus;
  }
  resolve(config);
  validate(config);
  return config;
}

Account train_once(const Arguments& a, const std::filesystem::path& out) {
  Account account;
  const auto start = std::chrono::steady_clock::now();
  Trainer trainer = Trainer::start(config_of(a), out);
  account.start_up = seconds_since(start);
  trainer.run(account, [] { return false; });
  account.all = seconds_since(start);
  const TrainConfig& train = trainer.config().train;
  Batch batch;
  batch.reshape(train.batch_size, {.cols = trainer.model().block_size()});
  const auto passes = static_cast<double>(trainer.accumulation().passes(0, train.max_steps));
  account.gflop = trainer.model().is_gpt() ? training_flops(trainer.model(), batch) * passes * 1e-9 : 0;
  return account;
}

void run(const Arguments& a) {
  const double peak = peak_flops();
  const double bandwidth = copy_bandwidth();
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / fmt::format("dikkat-bench-recipe-{}", ::getpid());
  std::vector<Account> accounts;
  for (int i = 0; i < a.warmup + a.runs; ++i) {
    accounts.push_back(train_once(a, folder));
    std::filesystem::remove_all(folder);
  }
  accounts.erase(accounts.begin(), accounts.begin() + a.warmup);
  std::sort(accounts.begin(), accounts.end(), [](const Account& x, const Account& y) { return x.all < y.all; });
  // Report the median run.
  const Account& median = accounts[accounts.size() / 2];
  const double share = median.gflop / median.steps / peak;
  if (a.json) {
    const nlohmann::ordered_json object{{"config", a.config},
                                        {"threads", thread_count()},
                                        {"ms_median", 1e3 * median.all},
                                        {"ms_min", 1e3 * accounts.front().all},
                                        {"ms_max", 1e3 * accounts.back().all},
                                        {"start_up_s", median.start_up},
                                        {"steps_s", median.steps},
                                        {"evaluations_s", median.evaluations},
                                        {"rest_s", median.rest()},
                                        {"best_validation_loss", median.best},
                                        {"share_of_peak_in_steps", share},
                                        {"peak_gflop_per_s", peak},
                                        {"copy_gb_per_s", bandwidth}};
    fmt::print("{}\n", object.dump());
  } else {
    fmt::print(
        "{}: {:.2f} s (min {:.2f}, max {:.2f}; {} runs, {} threads): start-up {:.2f}, steps {:.2f}, evaluations {:.2f}, rest {:.2f}\n",
        a.config, median.all, accounts.front().all, accounts.back().all, a.runs, thread_count(), median.start_up, median.steps,
        median.evaluations, median.rest());
    fmt::print("best validation loss {:.4f}; in steps {:.0f} % of {:.0f} GFLOP/s; copying memory {:.1f} GB/s\n", median.best, 100 * share,
               peak, bandwidth);
  }
}

}  // namespace
}  // namespace dikkat::bench

int main(int argc, char** argv) {
  dikkat::bench::Arguments a;
  CLI::App app{"Times whole training runs in a temporary folder."};
  app.add_option("--config", a.config, "Configuration file (TOML)")->capture_default_str();
  app.add_option("--corpus", a.corpus, "Corpus instead of the configuration's");
  app.add_option("--set", a.set, "section.key=value: overrides the configuration file");
  app.add_option("--runs", a.runs, "Timed runs")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--warmup", a.warmup, "Untimed runs before them")->capture_default_str()->check(CLI::NonNegativeNumber);
  app.add_flag("--json", a.json, "Print one JSON object");
  return dikkat::bench::run_program(app, argc, argv, [&] { dikkat::bench::run(a); });
}
