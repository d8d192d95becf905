#pragma once

#include <optional>

#include "train/assistant/chats.h"
#include "train/assistant/plan.h"
#include "train/config/config.h"

namespace dikkat::assistant {

/// Preferences to learn.
struct PairFacts {
  index examples = 0;
  index bytes = 0;         ///< of their files
  bool are_pairs = false;  ///< otherwise judged answers
};

/// What is known of the texts, the model and the machine before anything is tried.
struct Facts {
  Precision precision{};  ///< of this machine: f32 or bf16
  double repeats = 0;     ///< the share of the corpus in documents that are copies of others
  index bytes = 0;        ///< of the corpus without copies. A compressed file counts kCompression times.
  Chats chats{};
  PairFacts pairs{};
  std::optional<TransformerConfig> model{};  ///< the model of --from
};

/// Reads the texts and the model of the options. Throws InputError, which names the option, if one of them cannot be used for its stage.
Facts read_facts(const Wishes& wishes, const ShippedData& shipped);

}  // namespace dikkat::assistant
