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

/// Facts about a run that are known when it starts, besides its configuration. A fact that is not known yet is true, so that no key seems
/// to be without effect.
struct RunFacts {
  bool texts = true;          ///< some of the corpus, or of what is evaluated, is text
  bool jsonl = true;          ///< some of it is in .jsonl files
  bool tokens = true;         ///< some of it is token files (.bin)
  bool conversations = true;  ///< some of it is conversations
  bool processes = true;      ///< several processes share the run

  static RunFacts none() { return {.texts = false, .jsonl = false, .tokens = false, .conversations = false, .processes = false}; }
};

/// A run that is about to start.
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

/// A row of the table in effect.cpp: a key that does not always have an effect.
struct EffectRule {
  std::string_view key;  ///< "lora.dropout"
  std::span<const Condition> conditions;
};

/// Every key that counts under some conditions only. A key without a row always counts.
std::span<const EffectRule> effect_rules();
/// Whether the value of a key can change anything in this run.
bool has_effect(const Key& key, const Config& config, const RunFacts& facts = {});

}  // namespace schema

/// Those of `keys` ("section.key") that have an effect in none of the runs, in the order given, each once.
std::vector<std::string> keys_without_effect(std::span<const PlannedRun> runs, std::span<const std::string> keys);

/// The sentences that say so, one for each reason: "lora.dropout and lora.alpha have no effect here: they count only if lora.rank is above
/// 0". The keys are without effect in `run`.
std::vector<std::string> explain_without_effect(const PlannedRun& run, std::span<const std::string> keys);

/// The configuration with the default for each key that has no effect: runs whose effective configurations are equal are equal.
Config effective(const PlannedRun& run);

}  // namespace dikkat
