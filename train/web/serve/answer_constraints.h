#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>

#include "train/grammar/token_grammar.h"
#include "train/web/serve/answer_grammar.h"
#include "train/web/serve/served_model.h"

namespace dikkat::serve {

/// Makes the constraints of a model's answers: calls of tools, and the form of the content. Keeps the grammars of the last requests.
/// Thread-safe.
class AnswerConstraints {
 public:
  using Factory = std::function<std::unique_ptr<TokenConstraint>()>;

  /// Keeps a reference to the model.
  explicit AnswerConstraints(const ServedModel& model) : model_(model) {}

  /// Returns the constraint of the samples that answer a prompt, for SampleOptions::constraint; empty if they may be any text. Throws
  /// ApiError for a request that no constraint can fulfill. Calls `on_progress` often, if it is not empty, also while it waits for others,
  /// and rethrows its exceptions.
  Factory of(const ApiRequest& request, std::span<const Token> prompt, const std::function<void()>& on_progress = {});

 private:
  std::shared_ptr<const TokenTrie> trie();
  std::shared_ptr<const TokenGrammar> known(const std::string& key);
  /// Returns a new grammar; nullptr if the answer may be any text.
  std::shared_ptr<const TokenGrammar> make(const ApiRequest& request, AnswerRules rules);

  const ServedModel& model_;
  std::mutex mutex_;
  std::timed_mutex making_;                // one grammar at a time, so that clients cannot take all processors and memory
  std::shared_ptr<const TokenTrie> trie_;  // made for the first request that needs it
  std::list<std::pair<std::string, std::shared_ptr<const TokenGrammar>>> grammars_;  // the most recently used one comes first
};

}  // namespace dikkat::serve
