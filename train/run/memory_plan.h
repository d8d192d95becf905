#pragma once

#include <string>
#include <vector>

#include "autograd/base/error.h"
#include "optim/optimizer.h"
#include "train/checkpoint/snapshot.h"
#include "train/data/training_data.h"
#include "train/model/language_model.h"
#include "train/run/objectives/objective.h"
#include "train/run/run_evaluator.h"
#include "train/system/machine_memory.h"

namespace dikkat {

/// The highest memory use of a run, in bytes, by part: the memory that the process uses when training begins, and that training adds.
struct MemoryPlan {
  std::size_t weights = 0;
  std::size_t gradients = 0;
  struct Slab {
    std::string name;
    std::size_t bytes;
  };
  std::vector<Slab> optimizer{};         // optimizer state
  std::size_t activations = 0;           // for one batch, without the head
  std::size_t head = 0;                  // logits, or what the fused output layer and loss keep instead
  std::size_t activation_gradients = 0;  // buffers, which are reused
  std::size_t recomputation = 0;         // activations that the backward pass recomputes
  std::size_t comparison = 0;            // of all pairs of a step (embedding.batch)
  std::size_t evaluation = 0;
  std::size_t sampling = 0;   // for train.sample_prompts
  std::size_t rounded = 0;    // matrices rounded by train.quantize
  std::size_t save_copy = 0;  // weights and optimizer state to save from while training
  std::size_t loading = 0;    // the largest matrix that is packed after it is loaded; before training begins
  std::size_t scratch = 0;    // workspace of kernels on all threads
  std::size_t batches = 0;
  std::size_t tokens = 0;     // in memory
  std::size_t program = 0;    // code, libraries, tokenizer
  std::size_t stepping = 0;   // what the first steps add in libraries: code, stacks, heaps
  std::size_t saving = 0;     // what the first save adds in libraries and buffers
  std::size_t before = 0;     // the peak so far: reading a corpus may take more memory than training on it
  std::size_t droppable = 0;  // tokens in mapped files, which the system drops when it needs memory; not counted

  /// Returns the bytes of all slabs of the optimizer.
  std::size_t optimizer_state() const;
  /// Returns the bytes of weights, gradients and optimizer state.
  std::size_t parameters() const { return weights + gradients + optimizer_state(); }
  /// Returns the part of parameters() that each of `ranks` processes needs, if this is the plan of one process with `lanes` lanes. A rank
  /// has all weights, gradients for its own lanes, and an equal part of the optimizer state. `ranks` must divide `lanes`.
  std::size_t parameters_of_rank(index lanes, index ranks) const;
  /// Returns the bytes of all parts that training needs.
  std::size_t training() const;
  /// Returns the highest use of the process: training(), or the use before training if that is higher.
  std::size_t peak() const;
  /// Returns the part of training() that is not in use yet.
  std::size_t to_come() const;

  struct Row {
    std::string name;
    std::size_t bytes;
    const char* note;
  };
  /// Returns the parts that are not 0, with descriptions. They add up to training().
  std::vector<Row> rows() const;
};

/// Thrown if a plan needs more memory than the machine has. The message has the numbers and advice.
class DoesNotFit : public InputError {
 public:
  DoesNotFit(const std::string& what, const MemoryPlan& plan) : InputError(what), plan_(plan) {}
  /// Returns the plan as far as it was computed. It may have only the parameters.
  const MemoryPlan& plan() const { return plan_; }

 private:
  MemoryPlan plan_;
};

/// The parts of a run that a plan is made for. Parameters and optimizer state are mapped; tape and evaluator are new.
struct Reserved {
  const Config& config;
  const TrainingData& data;
  LanguageModel& model;
  Optimizer& optimizer;
  Tape& tape;
  Objective& objective;
  RunEvaluator& evaluator;
  RowLengths longest;
};
/// Finds out by dry runs how much memory the largest step and an evaluation need, and maps it. Throws DoesNotFit if the machine has less,
/// and Error if it cannot be mapped.
MemoryPlan reserve_memory(const Reserved& run);

/// Plans the memory of parameters: weights, gradients, optimizer state and the copy to save from. The store must be laid out.
MemoryPlan plan_parameters(const ParameterStore& parameters, Optimizer& optimizer, const TrainConfig& config);
/// Plans the memory of a step: forward, backward and update of a batch with rows of these lengths. It is a DryRun; tape and objective must
/// be new.
MemoryPlan plan_step(LanguageModel& model, Objective& objective, Optimizer& optimizer, const TrainConfig& config, RowLengths lengths,
                     Tape& tape);

/// Throws DoesNotFit if the plan needs more memory than the machine, its cgroup or its ulimit has.
void require_fits(const MemoryPlan& plan, const MachineMemory& machine);

/// Disk space of a run, in bytes.
struct DiskPlan {
  std::size_t checkpoint = 0;  // one checkpoint
  index kept = 0;              // checkpoints that exist at once, including the one being written
  std::size_t metrics = 0;

  std::size_t total() const { return checkpoint * static_cast<std::size_t>(kept) + metrics; }
};
DiskPlan plan_disk(const Config& config, const Snapshot& snapshot, bool evaluates);

}  // namespace dikkat
