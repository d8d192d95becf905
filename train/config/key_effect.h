#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "train/config/config.h"

namespace dikkat {

namespace schema {
struct Key;
}

/// Facts about a run, other than its configuration, that are known when it starts. A fact that is not known yet is true, so that no key
/// seems to be without effect.
struct RunFacts {
  bool texts = true;              ///< the corpus, including data for evaluation, has text
  bool jsonl = true;              ///< it has files of JSON objects, or tables
  bool several_files = true;      ///< a source of texts or examples has several files
  bool tokens = true;             ///< it has token files (.bin)
  bool conversations = true;      ///< it has conversations
  bool several_documents = true;  ///< a text to train on has three documents or more
  bool processes = true;          ///< several processes share the run
  bool new_rows = true;           ///< the model that it starts from has new tokens

  static RunFacts none() {
    return {.texts = false,
            .jsonl = false,
            .several_files = false,
            .tokens = false,
            .conversations = false,
            .several_documents = false,
            .processes = false,
            .new_rows = false};
  }
};

/// A run before its start.
struct PlannedRun {
  Config config;  ///< resolved
  RunFacts facts{};
};

namespace schema {

/// A condition under which a key has an effect.
struct Condition {
  bool (*holds)(const Config&, const RunFacts&) = nullptr;
  std::string_view text;  ///< "lora.rank is above 0"
};

/// A row of the table in key_effect.cpp: a key that does not always have an effect.
struct EffectRule {
  std::string_view key;  ///< "lora.dropout"
  std::span<const Condition> conditions;
};

/// Returns the rules for all keys that have an effect only under some conditions. A key without a rule always has one.
std::span<const EffectRule> effect_rules();
/// Returns whether the value of a key can change anything in this run.
bool has_effect(const Key& key, const Config& config, const RunFacts& facts = {});

}  // namespace schema

/// Returns those of `keys` ("section.key") that have no effect in any of the runs, in the same order, without repetition.
std::vector<std::string> keys_without_effect(std::span<const PlannedRun> runs, std::span<const std::string> keys);

/// Returns one sentence for each reason why `keys` have no effect in `run`: "lora.dropout and lora.alpha have no effect here: they count
/// only if lora.rank is above 0".
std::vector<std::string> explain_without_effect(const PlannedRun& run, std::span<const std::string> keys);

/// Returns the configuration with the default for each key that has no effect. Runs with equal effective configurations are equal.
Config effective(const PlannedRun& run);

}  // namespace dikkat
