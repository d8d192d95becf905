#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "autograd/base/index.h"
#include "autograd/base/shape.h"
#include "train/checkpoint/element_type.h"

namespace dikkat {

/// The training state of a run. With a checkpoint's tensors and texts, it is all that a run needs to continue with the same bits. Floats
/// are stored as raw bits.
struct TrainingState {
  index step = 0;          ///< optimizer steps done
  index tokens_seen = 0;   ///< target tokens trained on
  index samples_seen = 0;  ///< samples consumed: the position in the data
  index epoch = 0;
  std::uint64_t seed = 0;
  std::string random_algorithm = "philox4x32-10";
  bool evaluation_pending = false;  ///< saved before the evaluation of this step; resume must run it
  double best_val_loss = std::numeric_limits<double>::infinity();
  double best_accuracy = -1;  ///< accuracy of preferences at the best evaluation; -1: none
  index best_step = -1;       ///< step of best_val_loss; -1: none yet
  index steps_skipped = 0;    ///< steps whose update was skipped, so there were step - steps_skipped updates
  index losses_watched = 0;   ///< this and the next two are statistics of the losses, to find spikes
  double loss_mean = 0;
  double loss_variance = 0;
  std::string corpus_fingerprint;  ///< sha256 of the corpus, hex; empty for a model from merge or import
  index train_tokens = 0;
  index val_tokens = 0;
  std::string program_version;  ///< this and the next three describe the build; the bits of a run depend on it
  std::string compiler;
  std::string compiler_flags;
  std::string instruction_set;
  std::string overrides;     ///< keys that were changed when the run was resumed, one on each line
  std::string base_hash;     ///< hash of the base weights, if the run trains adapters
  std::string teacher_hash;  ///< hash of the teacher file (distill.file), if the run has one
  /// The first token that `dikkat tokenizer extend` added: the rows of this one and the following tokens are new. -1: none.
  index first_new_token = -1;
};

/// Returns whether a run wrote the checkpoint, so that it can be resumed. Otherwise it only holds a model.
inline bool is_of_a_run(const TrainingState& state) { return !state.corpus_fingerprint.empty(); }

/// Describes how a checkpoint stores a member of TrainingState.
struct StateField {
  std::string_view name;
  bool required = true;  ///< whether a program that does not know the field must refuse the file
  index least = 0;       ///< the smallest value that is accepted, for members of type index
};

/// Calls f(StateField, member) for every member. Writing, loading, comparing and printing all use this. If a member of TrainingState is
/// missing here, the structured binding does not compile.
template <class State, class F>
  requires std::same_as<std::remove_const_t<State>, TrainingState>
void for_each_field(State& state, F&& f) {
  auto& [step, tokens_seen, samples_seen, epoch, seed, random_algorithm, evaluation_pending, best_val_loss, best_accuracy, best_step,
         steps_skipped, losses_watched, loss_mean, loss_variance, corpus_fingerprint, train_tokens, val_tokens, program_version, compiler,
         compiler_flags, instruction_set, overrides, base_hash, teacher_hash, first_new_token] = state;
  f(StateField{.name = "step"}, step);
  f(StateField{.name = "tokens_seen"}, tokens_seen);
  f(StateField{.name = "samples_seen"}, samples_seen);
  f(StateField{.name = "epoch"}, epoch);
  f(StateField{.name = "seed"}, seed);
  f(StateField{.name = "random_algorithm"}, random_algorithm);
  f(StateField{.name = "evaluation_pending"}, evaluation_pending);
  f(StateField{.name = "best_val_loss"}, best_val_loss);
  f(StateField{.name = "best_accuracy", .required = false}, best_accuracy);
  f(StateField{.name = "best_step", .least = -1}, best_step);
  f(StateField{.name = "steps_skipped"}, steps_skipped);
  f(StateField{.name = "losses_watched"}, losses_watched);
  f(StateField{.name = "loss_mean"}, loss_mean);
  f(StateField{.name = "loss_variance"}, loss_variance);
  f(StateField{.name = "corpus_fingerprint"}, corpus_fingerprint);
  f(StateField{.name = "train_tokens"}, train_tokens);
  f(StateField{.name = "val_tokens"}, val_tokens);
  f(StateField{.name = "program_version", .required = false}, program_version);
  f(StateField{.name = "compiler", .required = false}, compiler);
  f(StateField{.name = "compiler_flags", .required = false}, compiler_flags);
  f(StateField{.name = "instruction_set", .required = false}, instruction_set);
  f(StateField{.name = "overrides", .required = false}, overrides);
  f(StateField{.name = "base_hash", .required = false}, base_hash);
  f(StateField{.name = "teacher_hash", .required = false}, teacher_hash);
  f(StateField{.name = "first_new_token", .required = false, .least = -1}, first_new_token);
}

/// Compares two states bit by bit: a NaN equals itself, -0.0 does not equal 0.0.
bool same_bits(const TrainingState& a, const TrainingState& b);

/// A tensor in the caller's memory, which is saved or loaded into: contiguous, row-major, bytes_of(type, shape) bytes.
struct TensorView {
  std::string path;  ///< "model/<parameter>" or "optimizer/<slab>/<parameter>", such as model/h.0.attn.c_attn.weight
  ElementType type = ElementType::f32;
  Shape shape;
  void* data = nullptr;  ///< is not written to when it is saved
  bool required = true;  ///< whether a program that does not know the tensor's group must refuse the file
};

/// The contents of one checkpoint. The tensors must not change while it is being saved.
struct Snapshot {
  TrainingState state;
  std::string config;               ///< the resolved configuration, TOML
  std::string tokenizer;            ///< the whole tokenizer, JSON
  std::vector<TensorView> tensors;  ///< in any order; no path twice
};

}  // namespace dikkat
