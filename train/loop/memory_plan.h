#pragma once

#include <string>
#include <vector>

#include "autograd/base/error.h"
#include "optim/optimizer.h"
#include "train/checkpoint/snapshot.h"
#include "train/loop/evaluate.h"
#include "train/loop/training_data.h"
#include "train/machine/machine_memory.h"

namespace dikkat {

/// Memory that a run takes at its highest, in bytes: what is there when training begins, and what is mapped for it.
struct MemoryPlan {
  std::size_t weights = 0;
  std::size_t gradients = 0;
  struct Slab {
    std::string name;
    std::size_t bytes;
  };
  std::vector<Slab> optimizer{};         // its state
  std::size_t activations = 0;           // of a batch, the head's apart
  std::size_t head = 0;                  // logits, or what the output layer and the loss keep instead of them
  std::size_t activation_gradients = 0;  // buffers that are used in turn
  std::size_t recomputation = 0;         // of what is made again in backward
  std::size_t evaluation = 0;
  std::size_t save_copy = 0;  // weights and optimizer state to save from while training
  std::size_t scratch = 0;    // of kernels, all threads
  std::size_t batches = 0;
  std::size_t tokens = 0;     // in memory
  std::size_t program = 0;    // code, libraries, tokenizer
  std::size_t stepping = 0;   // code of libraries, stacks and heaps that the first steps come to use,
  std::size_t saving = 0;     // and the first save, with buffers that a checkpoint is hashed and read back with
  std::size_t before = 0;     // the peak so far: reading a corpus may take more than training on it
  std::size_t droppable = 0;  // tokens in files, which the system holds while it has room: not counted

  /// Of all slabs.
  std::size_t optimizer_state() const;
  /// Weights, gradients and optimizer state.
  std::size_t parameters() const { return weights + gradients + optimizer_state(); }
  /// Of training alone.
  std::size_t training() const;
  /// The process's.
  std::size_t peak() const;
  /// Not in use yet.
  std::size_t to_come() const;

  struct Row {
    std::string name;
    std::size_t bytes;
    const char* note;
  };
  /// What there is of it, for people; the rows make up training().
  std::vector<Row> rows() const;
};

/// A plan that needs more memory than there is. The text has the numbers, and what to do about it.
class DoesNotFit : public InputError {
 public:
  DoesNotFit(const std::string& what, const MemoryPlan& plan) : InputError(what), plan_(plan) {}
  /// As far as it was made: it may have the parameters alone.
  const MemoryPlan& plan() const { return plan_; }

 private:
  MemoryPlan plan_;
};

/// What a run works with. Its parameters and the state of its optimizer are mapped; the tape and the evaluator are new.
struct Reserved {
  const Config& config;
  const TrainingData& data;
  LanguageModel& model;
  Optimizer& optimizer;
  Tape& tape;
  Evaluator& evaluator;
  RowLengths longest;
  index evaluated = 0;  // samples of an evaluation; 0: there is none
};
/// Finds out what the largest step and an evaluation take, and maps it. Throws InputError where there is less than that at all (as
/// require_fits()), Error where it cannot be mapped.
MemoryPlan reserve_memory(const Reserved& run);

/// The part of a plan that parameters take, which are laid out: weights, gradients, optimizer state and the copy to save from.
MemoryPlan plan_parameters(const ParameterStore& parameters, Optimizer& optimizer, const TrainConfig& config);
/// The part of a plan that is a step's: forward, backward and update in a DryRun, on a new tape, of a batch of rows of that length.
MemoryPlan plan_step(LanguageModel& model, Optimizer& optimizer, const TrainConfig& config, RowLengths lengths, Tape& tape);

/// Throws DoesNotFit where the plan needs more than there is at all.
void require_fits(const MemoryPlan& plan, const MachineMemory& machine);

/// Disk space of a run, in bytes.
struct DiskPlan {
  std::size_t checkpoint = 0;  // one
  index kept = 0;              // checkpoints that are there at once, with the one that is being written
  std::size_t metrics = 0;

  std::size_t total() const { return checkpoint * static_cast<std::size_t>(kept) + metrics; }
};
DiskPlan plan_disk(const Config& config, const Snapshot& snapshot, bool evaluates);

}  // namespace dikkat
