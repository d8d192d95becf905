#pragma once

#include <string>

#include "autograd/base/index.h"

namespace dikkat {

/// The numbers that decide the sizes of an assistant.
struct AssistantWish {
  double seconds = 0;        ///< the time for all stages
  index bytes = 0;           ///< of the corpus
  double flops_per_second = 0;  ///< the useful rate of the machine in training
  bool has_preferences = false;
};

/// The sizes of an assistant: its model, its vocabulary, and the time of each stage.
struct AssistantPlan {
  index n_layer = 0, n_head = 0, n_embd = 0;
  index block_size = 0;
  index vocab_size = 0;
  index batch_size = 0;
  index parameters = 0;     ///< of the matrices and the head
  index corpus_tokens = 0;  ///< an estimate; known exactly after the tokenizer has been trained
  double pretrain_seconds = 0, chats_seconds = 0, preferences_seconds = 0, other_seconds = 0;
};

/// Chooses the largest model that sees about ten tokens for each parameter within the time, reading the corpus at most 16 times. If there is
/// no such model, chooses the smallest one. Depends only on `wish`. Throws InputError if the time or the corpus is too small, naming --time
/// or --corpus.
AssistantPlan plan_assistant(const AssistantWish& wish);

/// Returns the floating-point operations of training on one token.
double training_flops_per_token(const AssistantPlan& plan);

/// Returns the number of steps that fit into `seconds` if one takes `step_seconds`: 1 or more.
index steps_within(double seconds, double step_seconds);

/// Reads a time such as "90s", "5m", "3h" or "1.5h", in seconds. Throws InputError, naming --time, for another text.
double seconds_of(const std::string& time);

}  // namespace dikkat
