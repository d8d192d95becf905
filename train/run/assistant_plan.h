#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "autograd/base/index.h"

// The plan of `dikkat assistant`: which model a corpus, a time and a machine can train, and the stages that train it.
namespace dikkat {

/// The shape of a model, and of its batches.
struct AssistantSize {
  index n_layer = 0, n_embd = 0, n_head = 0;
  index block_size = 0;  // tokens of a window
  index batch_size = 0;  // windows of a step

  /// Returns the parameters that products read: all matrices of the blocks, and the head.
  index parameters(index vocab_size) const;
  /// Returns the floating-point operations that training takes for a token: 6 for each parameter, and those of attention (Kaplan et al.
  /// 2020, arXiv 2001.08361, with causal attention).
  double flops_per_token(index vocab_size) const;
};

/// Returns the number of word pieces for a corpus of `bytes`: a larger text can fill a larger vocabulary.
index vocabulary_for(index bytes);

/// Returns the largest size that reads enough tokens in `seconds`, with `flops` useful operations per second: 15 for each parameter, which
/// is a little less than what Hoffmann et al. 2022 (arXiv 2203.15556) found best. The text must have at least a quarter as many tokens as
/// the model has parameters; a larger model would learn it by heart. Returns the smallest size if none fits.
AssistantSize size_for(double seconds, double flops, index vocab_size, index corpus_tokens);

/// A part of the work, which is an ordinary run.
struct AssistantStage {
  std::string name;    // "pretrain", "chats" or "preferences": the name of its folder too
  std::string recipe;  // --config; empty: the defaults
  std::string data;    // --corpus
  std::string from;    // --init-from; empty: a new model
  std::vector<std::string> settings;
  double epochs = 0;   // 0: train.max_steps is among the settings
  double seconds = 0;  // expected
  bool done = false;
};

/// What a folder of `dikkat assistant` records before its first stage begins. Nothing in it depends on a clock afterwards, so an
/// interrupted run has the same bits as one that was never stopped.
struct AssistantPlan {
  std::string command;   // the options that the plan was made for, as JSON text; another command may not continue it
  std::string summary;   // the table of what will happen
  std::vector<AssistantStage> stages;
};

/// The plan's file in the folder.
std::filesystem::path assistant_file(const std::filesystem::path& folder);
void write_plan(const std::filesystem::path& file, const AssistantPlan& plan);
/// Throws InputError if the file is not a plan, or is one of another version.
AssistantPlan read_plan(const std::filesystem::path& file);

}  // namespace dikkat
