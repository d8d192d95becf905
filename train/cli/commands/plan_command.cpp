#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/base/parallel.h"
#include "autograd/kernels/instruction_set.h"
#include "train/cli/commands.h"
#include "train/cli/effect_notes.h"
#include "train/cli/plan_text.h"
#include "train/cli/run_options.h"
#include "train/cli/shared_options.h"
#include "train/cli/terminal/json_output.h"
#include "train/cli/terminal/progress.h"
#include "train/cli/terminal/streams.h"
#include "train/cli/terminal/text.h"
#include "train/config/resolve.h"
#include "train/machine/rate.h"
#include "train/run/pace.h"
#include "train/run/trainer.h"
#include "train/system/free_space.h"
#include "train/system/machine_memory.h"

namespace dikkat {
namespace {

struct PlanArguments {
  RunOptions run;
  std::string out;
  index ranks = 0;
  bool json = false;
};

using Json = nlohmann::ordered_json;

constexpr index kSteps = 3;

/// The measured speed of matrix products in FLOP/s. bf16 is set if the build has an instruction for it.
struct ProductRates {
  double f32;
  std::optional<double> bf16;
};

ProductRates product_rates() {
  return {gemm_rate(DType::f32), kernels::has_bf16_products() ? std::optional(gemm_rate(DType::bf16)) : std::nullopt};
}

/// Returns advice on train.precision if bf16 products are `ratio` times as fast as those of f32.
std::string advice_on_precision(Precision precision, double ratio) {
  constexpr double kWorthwhile = 1.2;  // rounding and packing take some of the gain
  if (precision == Precision::bf16) {
    return ratio > kWorthwhile ? "this run's" : "this run's; train.precision=f32 would not be slower";
  }
  return ratio > kWorthwhile ? "train.precision=bf16 would save time and memory" : "not faster than f32 here";
}

/// Returns the planned peak without the memory for saving and for comparing all pairs of a step, which a trial does not do.
std::size_t planned_for_trial(const MemoryPlan& plan) {
  return std::max(plan.before, plan.training() - plan.save_copy - plan.saving - plan.comparison);
}

void print_row(const std::string& name, const std::string& figure, const std::string& note = "") {
  print_result(fmt::format("  {:<22}{:>10}{}{}\n", name, figure, note.empty() ? "" : "  ", note));
}

void print_memory(const MemoryPlan& plan, const MachineMemory& machine) {
  print_result("memory\n");
  for (const MemoryPlan::Row& row : plan.rows()) {
    print_row(row.name, short_bytes(row.bytes), row.note);
  }
  print_row("in all", short_bytes(plan.peak()), plan.before > plan.training() ? "while reading the corpus; training takes less" : "");
  if (plan.droppable > 0) {
    print_row("tokens in a file", short_bytes(plan.droppable), "not counted, since the system drops them when memory is short");
  }
  if (machine.total != kNoLimit) {
    print_row(machine.limited ? "the cgroup has" : "the machine has", short_bytes(machine.total),
              machine.available == kNoLimit ? "" : fmt::format("{} available now", short_bytes(machine.available)));
  }
}

void print_product_rates(Precision precision, const ProductRates& rates) {
  const auto giga = [](double rate) { return fmt::format("{:.0f} GFLOP/s", rate * 1e-9); };
  print_result("matrix products\n");
  print_row("f32", giga(rates.f32), precision == Precision::f32 ? "this run's" : "");
  if (rates.bf16) {
    print_row("bf16", giga(*rates.bf16), advice_on_precision(precision, *rates.bf16 / rates.f32));
  }
}

/// The bytes of weights, gradients and optimizer state on each of several ranks.
struct RankMemory {
  index ranks;
  std::size_t bytes;
};

/// Returns the memory of each rank for 2, 4, ... `most` ranks.
std::vector<RankMemory> rank_memory(const Trainer& trainer, index most) {
  std::vector<RankMemory> list;
  for (index ranks = 2; ranks <= most; ranks *= 2) {
    list.push_back({ranks, trainer.memory_plan().parameters_of_rank(trainer.config().train.lanes, ranks)});
  }
  return list;
}

void print_rank_memory(const std::vector<RankMemory>& list) {
  print_result("memory of each rank\n");
  for (const RankMemory& rank : list) {
    print_row(fmt::format("{} ranks", rank.ranks), short_bytes(rank.bytes),
              rank.ranks == 2 ? "weights, gradients and optimizer state" : "");
  }
}

Json ranks_object(const std::vector<RankMemory>& list) {
  Json ranks = Json::array();
  for (const RankMemory& rank : list) {
    ranks.push_back({{"ranks", rank.ranks}, {"memory", rank.bytes}});
  }
  return ranks;
}

void print_run_plan_json(const Trainer& trainer, const Trial& trial, const std::filesystem::path& out, const MachineMemory& machine,
                         const ProductRates& rates, const PlanArguments& arguments) {
  const MemoryPlan& plan = trainer.memory_plan();
  const DiskPlan disk = trainer.disk_plan();
  const Pace pace = pace_of(trainer, trial);
  const auto known = [](std::size_t bytes) { return bytes == kNoLimit ? Json() : Json(bytes); };
  Json object;
  for (const MemoryPlan::Row& row : plan.rows()) {
    object["memory"][row.name] = row.bytes;
  }
  object["peak"] = plan.peak();
  object["machine"] = {{"total", known(machine.total)}, {"available", known(machine.available)}};
  const auto free = free_space(out);
  object["disk"] = {{"checkpoint", disk.checkpoint},
                    {"checkpoints", disk.kept},
                    {"metrics", disk.metrics},
                    {"total", disk.total()},
                    {"free", free ? Json(*free) : Json()}};
  object["trial"] = {{"steps", trial.steps.size()},
                     {"step_seconds", pace.step_seconds},
                     {"optimizer_seconds", pace.optimizer_seconds},
                     {"tokens_per_s", pace.tokens_per_second},
                     {"seconds_to_finish", pace.seconds},
                     {"planned_peak", planned_for_trial(plan)},
                     {"measured_peak", trial.peak}};
  object["products"] = {{"f32_flop_per_s", rates.f32}, {"bf16_flop_per_s", rates.bf16 ? Json(*rates.bf16) : Json()}};
  if (arguments.ranks > 1) {
    object["ranks"] = ranks_object(rank_memory(trainer, arguments.ranks));
  }
  print_json(object);
}

void print_run_plan(const Trainer& trainer, const Trial& trial, const std::filesystem::path& out, const MachineMemory& machine,
                    const ProductRates& rates, const PlanArguments& arguments) {
  const MemoryPlan& plan = trainer.memory_plan();
  const DiskPlan disk = trainer.disk_plan();
  const Pace pace = pace_of(trainer, trial);
  print_memory(plan, machine);
  print_result("disk\n");
  print_row("per checkpoint", short_bytes(disk.checkpoint));
  print_row("in all", short_bytes(disk.total()), fmt::format("{} checkpoints at once, and the metrics", disk.kept));
  if (const auto free = free_space(out)) {
    print_row("free", short_bytes(*free));
  }
  print_result(fmt::format("trial of {} steps{}\n", trial.steps.size(), trial.evaluation_seconds > 0 ? " and some evaluation" : ""));
  print_row("a step", fmt::format("{:.1f} ms", pace.step_seconds * 1e3),
            fmt::format("{} tokens/s", grouped_digits(static_cast<index>(pace.tokens_per_second))));
  print_row("the optimizer", fmt::format("{:.1f} ms", pace.optimizer_seconds * 1e3),
            fmt::format("{:.0f}% of a step", 100 * pace.optimizer_seconds / pace.step_seconds));
  print_row(
      "to finish", clock_time(pace.seconds),
      fmt::format("{} steps{}", grouped_digits(trainer.config().train.max_steps), trial.evaluation_seconds > 0 ? " with evaluations" : ""));
  print_row("memory at its peak", short_bytes(trial.peak), fmt::format("planned {}, without saving", short_bytes(planned_for_trial(plan))));
  print_product_rates(trainer.config().train.precision, rates);
  if (arguments.ranks > 1) {
    print_rank_memory(rank_memory(trainer, arguments.ranks));
  }
}

int plan_command(const PlanArguments& arguments) {
  start_threads();
  // Read the configuration, and fit it to the ranks.
  std::vector<std::string> written;
  Config config = configuration_of(arguments.run, {}, &written);
  if (arguments.ranks > 1) {
    require_input(std::has_single_bit(static_cast<std::uint64_t>(arguments.ranks)), "--ranks is ", arguments.ranks,
                  ", expected a power of two: 2, 4, 8, ...");
    const index passes = config.train.gradient_accumulation_steps;
    require_input(passes % arguments.ranks == 0, arguments.ranks,
                  " ranks share the micro-batches of a step, but train.gradient_accumulation_steps is ", passes,
                  ", not a multiple of their number: --set train.gradient_accumulation_steps=", round_up(passes, arguments.ranks));
    config.train.lanes.derive(arguments.ranks);
    validate(config);
    require_input(config.train.lanes % arguments.ranks == 0, "train.lanes is ", index{config.train.lanes},
                  ", expected a multiple of --ranks ", arguments.ranks);
  }
  // Make the run without a folder.
  const std::filesystem::path out = new_run_path(arguments.out, arguments.run.config).free_now();
  const MachineMemory machine = machine_memory();
  Trainer trainer = [&] {
    LoadingLine line;
    try {
      return Trainer::plan(std::move(config), std::ref(line));
    } catch (const DoesNotFit& too_large) {
      if (!arguments.json) {
        print_memory(too_large.plan(), machine);
        flush_results();
      }
      throw;
    }
  }();
  // Warn of what will not work, and try some steps.
  for (const std::string& shortage : {shortage_of_memory(trainer.memory_plan(), machine), shortage_of_disk(trainer.disk_plan(), out)}) {
    if (!shortage.empty()) {
      warn("warning: " + shortage);
    }
  }
  PlannedRun planned = trainer.planned();
  planned.facts.processes = arguments.ranks > 1;
  note_keys_without_effect(planned, written);
  const Trial trial = run_trial(trainer, kSteps);
  const auto print = arguments.json ? print_run_plan_json : print_run_plan;
  print(trainer, trial, out, machine, product_rates(), arguments);
  flush_results();
  return 0;
}

}  // namespace

void add_plan(Commands& program) {
  constexpr const char* kExamples = R"(  dikkat plan --config quickstart
  dikkat plan --config configs/gpt2-124m.toml --corpus texts/ --set train.batch_size=1 train.recompute=block
  dikkat plan --config quickstart --corpus my-text.txt --out /data/runs/mine --json
Reads and tokenizes the corpus as for training, then runs and times at most three steps. Writes
nothing except the tokens of a large text, which training reuses (data.cache).)";
  const auto a = std::make_shared<PlanArguments>();
  Command command =
      program.add("plan", "Estimate the memory, disk space and time that training needs", kExamples, [a] { return plan_command(*a); });
  command.text("--config", a->run.config, "FILE|NAME", kConfigHelp);
  command.texts("--corpus", a->run.corpus, "PATH", "Text files and folders to train on, or pairs; replaces data.corpus");
  command.text("--out", a->out, "DIR", "Run directory to plan for, whose disk is checked for space; by default a folder in runs/");
  command.texts("--set", a->run.set, "KEY=VALUE", kSetHelp);
  command.text("--init-from", a->run.init_from, "RUN_DIR|FILE.h5", kInitFromHelp);
  command.number<index>("--ranks", a->ranks, 1, 1024,
                        "Also report the memory of each rank if 2, 4, ... N processes share the run (docs/CLUSTER.md)");
  command.flag("--json", a->json, "Print one JSON object: memory (bytes by part), machine, disk, trial, products, ranks");
}

}  // namespace dikkat
