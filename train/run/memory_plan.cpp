#include "train/run/memory_plan.h"

#include <algorithm>

#include "autograd/base/cores.h"
#include "autograd/base/dry_run.h"
#include "autograd/base/parallel.h"
#include "train/checkpoint/save.h"
#include "train/model/fake_quantized_weights.h"
#include "train/model/precision.h"
#include "train/parallel/lane_sum.h"
#include "train/system/format_numbers.h"

namespace dikkat {
namespace {

/// Measures the tape's memory for the model's head, which is the last part of the forward pass.
class HeadObserver : public TapeObserver {
 public:
  explicit HeadObserver(const Tape& tape) : tape_(tape) {}
  void forward_begins() override {}
  void forward_ends(const OpRun& run) override {
    if (run.region != Region::head) {
      before_ = bytes();
    }
    last_ = bytes();
  }
  void backward_begins() override {}
  void backward_ends(const OpRun&) override {}

  std::size_t head() const { return last_ - before_; }

 private:
  std::size_t bytes() const { return tape_.activation_bytes() - tape_.recomputation_bytes(); }

  const Tape& tape_;
  std::size_t before_ = 0, last_ = 0;
};

/// Adds the bytes of a text's tokens, in memory or in files.
void count_tokens(const Dataset& data, MemoryPlan& plan) {
  plan.droppable += static_cast<std::size_t>(data.size().bytes_in_files);
  plan.tokens += static_cast<std::size_t>(data.size().bytes_in_memory);
}

/// Adds the current memory of the process, and what its first step and save will add.
void note_process(MemoryPlan& plan) {
  const ProcessMemory process = process_memory();
  plan.before = process.peak;
  // These were measured. They depend on the number of threads, and not on the model.
  constexpr std::size_t kMega = 1'000'000;
  const auto threads = static_cast<std::size_t>(thread_count());
  plan.stepping = (5 + threads) * kMega;
  plan.saving = (9 + static_cast<std::size_t>(usable_cores())) * kMega;  // TBB has a thread for each core
  plan.program = process.resident - std::min(process.resident, plan.tokens);
}

std::string shown(std::size_t bytes) { return short_bytes(static_cast<double>(bytes)); }

}  // namespace

std::size_t MemoryPlan::optimizer_state() const {
  std::size_t bytes = 0;
  for (const Slab& slab : optimizer) {
    bytes += slab.bytes;
  }
  return bytes;
}

std::size_t MemoryPlan::parameters_of_rank(index lanes, index ranks) const {
  require(ranks >= 1 && lanes % ranks == 0, "memory of a rank: ", ranks, " ranks and ", lanes,
          " lanes, expected a number of ranks that divides the lanes");
  const auto slabs = [](index of_lanes) { return static_cast<std::size_t>(1 + LaneSum::slabs(of_lanes)); };
  return weights + gradients / slabs(lanes) * slabs(lanes / ranks) + optimizer_state() / static_cast<std::size_t>(ranks);
}

std::size_t MemoryPlan::training() const {
  return parameters() + activations + head + activation_gradients + recomputation + comparison + evaluation + sampling + rounded +
         save_copy + scratch + batches + stepping + saving + tokens + program;
}

std::size_t MemoryPlan::peak() const { return std::max({before, training(), parameters() + loading + tokens + program}); }

std::size_t MemoryPlan::to_come() const { return training() - tokens - program; }

std::vector<MemoryPlan::Row> MemoryPlan::rows() const {
  std::vector<Row> rows{{"weights", weights, ""}, {"gradients", gradients, ""}};
  for (const Slab& slab : optimizer) {
    rows.push_back({slab.name, slab.bytes, "optimizer state"});
  }
  for (const Row& row :
       {Row{"activations", activations, "for one batch"}, Row{"head", head, "logits and the loss"},
        Row{"activation gradients", activation_gradients, "reused buffers"}, Row{"recomputation", recomputation, "for one block"},
        Row{"comparison", comparison, "of all pairs of a step; less with a smaller embedding.batch"}, Row{"evaluation", evaluation, ""},
        Row{"samples", sampling, "keys and values, for train.sample_prompts"}, Row{"rounded weights", rounded, "for train.quantize"},
        Row{"copy to save from", save_copy, "weights and optimizer state; not needed with train.async_save = false"},
        Row{"workspace of kernels", scratch, "all threads"}, Row{"batches", batches, ""}, Row{"tokens", tokens, "in memory"},
        Row{"program", program, "code, libraries, tokenizer"},
        Row{"more of the program", stepping + saving, "allocated in libraries by the first steps and the first save"}}) {
    if (row.bytes > 0) {
      rows.push_back(row);
    }
  }
  return rows;
}

MemoryPlan plan_step(LanguageModel& model, Objective& objective, Optimizer& optimizer, const TrainConfig& config, RowLengths lengths,
                     Tape& tape) {
  // Make a batch of the largest shape, whose contents do not matter.
  Batch batch;
  batch.reshape(config.batch_size, lengths);
  batch.fill_for_dry_run();
  // Run a step without computing anything.
  const DryRun dry;
  HeadObserver observer(tape);
  tape.observe(&observer);
  Pass pass{.tape = tape, .training = true, .recompute = config.recompute, .operands = operand_type(config)};
  std::vector<double> sums(objective.sums());
  PassReport report{.sums = sums};
  const Tensor loss = objective.loss(pass, batch, report);
  tape.observe(nullptr);
  tape.backward(loss);
  optimizer.update({}, optimizer.units());
  model.parameters().clear_gradients();
  MemoryPlan plan{.head = observer.head(),
                  .activation_gradients = tape.gradient_bytes(),
                  .recomputation = tape.recomputation_bytes(),
                  .comparison = objective.comparison_bytes(lengths),
                  .scratch = dry.scratch_bytes(thread_count()),
                  .batches = 2 * bytes_of(lengths, config.batch_size)};
  plan.activations = tape.activation_bytes() - plan.recomputation - plan.head;
  plan.head += objective.bytes();
  return plan;
}

namespace {

/// Returns the bytes of the weights in a checkpoint: all weights, or only what is stored with the adapters.
std::size_t saved_bytes(const ParameterStore& parameters) {
  constexpr index kUnit = 64 / sizeof(float);  // a copy is aligned
  const bool has_adapters = parameters.has_adapters();
  index size = 0;
  for (const ParameterStore::Entry* entry : parameters.entries()) {
    size += !has_adapters || entry->with_adapters ? round_up(entry->size(), kUnit) : 0;
  }
  return static_cast<std::size_t>(size) * sizeof(float);
}

/// Returns the bytes of the largest matrix that is packed, before it is packed.
std::size_t largest_to_pack(const ParameterStore& parameters) {
  index size = 0;
  for (const ParameterStore::Entry* entry : parameters.entries()) {
    size = entry->packing == PackedType::f32 ? size : std::max(size, entry->size());
  }
  return static_cast<std::size_t>(size) * sizeof(float);
}

}  // namespace

MemoryPlan plan_parameters(const ParameterStore& parameters, Optimizer& optimizer, const TrainConfig& config) {
  MemoryPlan plan{.weights = parameters.weight_bytes(),
                  .gradients = static_cast<std::size_t>(parameters.trainable_size() * (1 + LaneSum::slabs(config.lanes))) * sizeof(float)};
  for (const StateSlab* slab : optimizer.state()) {
    plan.optimizer.push_back({slab->meaning, slab->bytes()});
  }
  plan.save_copy = config.async_save ? saved_bytes(parameters) + plan.optimizer_state() : 0;
  plan.loading = largest_to_pack(parameters);
  plan.rounded = config.quantize == Quantize::none ? 0 : FakeQuantizedWeights(parameters).bytes();
  return plan;
}

MemoryPlan reserve_memory(const Reserved& run) {
  const TrainConfig& train = run.config.train;
  require_fits({.batches = 2 * bytes_of(run.longest, train.batch_size)}, machine_memory());  // a dry step fills only the batches
  Tape dry;
  const std::unique_ptr<Objective> twin = run.objective.twin();
  MemoryPlan plan = plan_step(run.model, *twin, run.optimizer, train, run.longest, dry);
  MemoryPlan parameters = plan_parameters(run.model.parameters(), run.optimizer, train);
  plan.weights = parameters.weights;
  plan.gradients = parameters.gradients;
  plan.optimizer = std::move(parameters.optimizer);
  plan.save_copy = parameters.save_copy;
  plan.loading = parameters.loading;
  plan.rounded = parameters.rounded;
  for (const SourceData& source : run.data.sources) {
    count_tokens(*source.train, plan);
    count_tokens(*source.validation, plan);
  }
  for (const auto& [name, text] : run.data.evaluations) {
    count_tokens(*text, plan);
  }
  note_process(plan);
  require_fits(plan, machine_memory());

  run.tape.reserve(dry);
  run.objective.reserve(*twin);
  if (run.evaluator.evaluates()) {
    plan.evaluation = run.evaluator.reserve();
    require_fits(plan, machine_memory());
  }
  note_process(plan);
  return plan;
}

void require_fits(const MemoryPlan& plan, const MachineMemory& machine) {
  const std::size_t parameters = plan.parameters();
  const auto refuse = [&](const char* takes, std::size_t bytes, const char* limit, std::size_t there_is) {
    const bool is_the_model = parameters + plan.save_copy > bytes / 2;
    const std::string compared = plan.comparison == 0 ? "" : concat(", ", shown(plan.comparison), " to compare all pairs of a step");
    throw DoesNotFit(
        concat("training would ", takes, " ", shown(bytes), " of memory (", shown(parameters),
               " for weights, gradients and optimizer state, ", shown(plan.activations + plan.head), " for activations, ",
               shown(plan.save_copy), " to save from", compared, "), and ", limit, shown(there_is),
               plan.comparison > bytes / 2 ? "; most of that compares pairs: try a smaller embedding.batch"
               : is_the_model
                   ? "; most of that is the model's own: try a smaller one (model.n_embd, model.n_layer), or train.async_save = false"
                   : "; try a smaller train.batch_size with more train.gradient_accumulation_steps, train.recompute = \"block\", "
                     "train.async_save = false, or a smaller model"),
        plan);
  };
  if (plan.training() > machine.total) {
    refuse("take", plan.training(),
           machine.limited ? "the limit of this process's cgroup, swap space included, is " : "the machine, swap space included, has ",
           machine.total);
  }
  const std::size_t mapped = process_memory().address_space;
  if (plan.save_copy > machine.address_space || mapped > machine.address_space - plan.save_copy) {
    refuse("map", mapped + plan.save_copy, "the limit of this process (ulimit -v) is ", machine.address_space);
  }
}

DiskPlan plan_disk(const Config& config, const Snapshot& snapshot, bool evaluates) {
  constexpr std::size_t kLine = 265;  // bytes of a line of metrics.jsonl, about
  const TrainConfig& train = config.train;
  index lines = train.max_steps;
  if (evaluates) {
    lines += train.max_steps / train.eval_interval + 1;
  }
  return {.checkpoint = static_cast<std::size_t>(expected_bytes(snapshot)),
          .kept = train.keep_last + (evaluates ? 1 : 0) + 1,
          .metrics = static_cast<std::size_t>(lines) * kLine};
}

}  // namespace dikkat
