#pragma once

#include <initializer_list>
#include <vector>

#include "train/assistant/size.h"
#include "train/config/config.h"
#include "train/config/edit.h"

// What the runs of an assistant change in the default configuration.
namespace dikkat::assistant {

using Edits = std::vector<ConfigEdit>;

/// Returns all edits, in their order.
Edits joined(std::initializer_list<Edits> lists);

/// Returns the length of a run, and what follows from it. `step_seconds` is the time of one step.
Edits length_of(index steps, double step_seconds);

/// Returns the recipe of pretraining: that of configs/english-books.toml for another size. The layout is Qwen3's, as in
/// configs/quickstart.toml, so that other programs can read the model. It has no attention windows. A text that is read often gets dropout
/// and more weight decay (docs/RECIPES.md).
Edits pretraining(const Size& size, index vocab_size, bool is_read_often, Precision precision);

/// The recipe of the stages after pretraining.
struct Tuning {
  Precision precision{};
  double chat_rate = 0, preference_rate = 0;  ///< learning rates
  index chat_rows = 0, pair_rows = 0;         ///< rows of a step. A row of pairs has two windows.
  Edits of_model{};                           ///< for the model, in both stages

  Edits chats() const;
  Edits preferences() const;
};

/// Returns the recipe for a model of this size that was pretrained before.
Tuning tuning_of_new(const Size& size, index vocab_size, Precision precision);

/// Returns the recipe for a model that the user has, with windows of `window` tokens. A large one gets adapters.
Tuning tuning_of_trained(const TransformerConfig& model, index window, Precision precision);

}  // namespace dikkat::assistant
