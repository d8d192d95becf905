#pragma once

#include <memory>
#include <string>
#include <vector>

#include "train/config/chat_config.h"
#include "train/data/dataset.h"
#include "train/data/examples/conversations.h"
#include "train/data/examples/example_form.h"

namespace dikkat {

/// Some examples of a corpus.
struct ExampleRange {
  const ConversationCorpus& corpus;
  index first = 0, count = 0;
};

/// Conversations for a GPT, packed into windows. Training and evaluations may score different tokens (chat.loss, chat.eval_loss).
class ConversationDataset : public Dataset {
 public:
  /// Tokenizes examples. Training and evaluations score the tokens of `scored`. `purpose` is the examples' use in notes: " for training",
  /// or empty. Keeps no references. Throws InputError, which names the file and the line, for a text that the tokenizer cannot encode.
  ConversationDataset(const ExampleRange& examples, const ExampleForm& form, ScoredText scored, const std::string& purpose);
  /// Tokenizes examples. Training scores the tokens of `trained`, and evaluations those of `scored`.
  ConversationDataset(const ExampleRange& examples, const ExampleForm& form, ScoredText trained, ScoredText scored,
                      const std::string& purpose);

  std::unique_ptr<const Samples> training() const override;
  const Sequences* scored() const override { return &scored_; }
  TeacherPositions trained_targets(const std::string&) const override { return TeacherPositions(trained()); }

  /// Returns notes on the examples as training reads them: their windows, and how many are cut or left out.
  const std::vector<std::string>& notes() const { return notes_; }
  /// Returns whether training has a token to learn.
  bool can_train() const { return trained().count() > 0; }

 private:
  const ConversationStore& trained() const { return apart_ ? *apart_ : scored_; }

  const index window_;
  const ConversationStore scored_;
  const std::unique_ptr<const ConversationStore> apart_{};  // set if training scores other tokens
  std::vector<std::string> notes_;
};

}  // namespace dikkat
