#pragma once

#include "train/assistant/facts.h"
#include "train/assistant/measure.h"
#include "train/assistant/plan.h"
#include "train/assistant/size.h"

namespace dikkat::assistant {

/// The figures that explain a plan to people.
struct PlanFigures {
  index vocab_size = 0;        ///< word pieces of the tokenizer
  index bytes = 0;             ///< of the corpus without copies
  double repeats = 0;          ///< as in Facts
  double reading_seconds = 0;  ///< to read the texts and to train the tokenizer; with --from also to evaluate
  Size size{};                 ///< of a new model
  index parameters = 0;        ///< of a new model
  double pretrain_tokens = 0, pretrain_epochs = 0;
  index conversations = 0;  ///< to learn
  double chat_epochs = 0;
  index pairs = 0;                  ///< all examples of --pairs
  bool has_held_out_chats = false;  ///< whether any are held out
  index asked = 0;                  ///< held-out conversations with questions
  double question_seconds = 0;      ///< to ask them after each stage
  double planning_seconds = 0;

  /// Returns the seconds that the plan expects in all.
  double expected_seconds(const Plan& plan) const;
};

/// A plan without its table, and what the table shows.
struct PlanOutline {
  Plan plan{};
  PlanFigures figures{};
};

/// Plans the stages that fill the time. A function of its arguments and of what `measure` returns; it writes nothing. Throws InputError if
/// the time is too short, or if a later stage could learn nothing from its file.
PlanOutline make_plan(const Wishes& wishes, const Facts& facts, Measure& measure);

}  // namespace dikkat::assistant
