#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "train/grammar/grammar.h"
#include "train/grammar/token_trie.h"
#include "train/sample/token_constraint.h"

namespace dikkat {

/// A grammar for the tokens of a vocabulary. After each token it finds the tokens that can follow, and caches them for all samples that use
/// it. Thread-safe.
///
///   const auto grammar = std::make_shared<const TokenGrammar>(json_schema(schema), trie, ends);
///   options.constraint = grammar->constraints();
///
/// Every text that the tokens allow can be completed: no sample reaches a point where nothing may follow. A sample that reaches its maximum
/// length is still cut off. A text is that of the sample's tokens only: if spaces come between tokens, none comes before the first one.
class TokenGrammar : public std::enable_shared_from_this<TokenGrammar> {
 public:
  /// `ends` are the tokens that end a sample. They are allowed where the text is complete. Throws GrammarTooLarge. Throws InputError if the
  /// grammar contains itself without text before that, has too many readings of a text at once, or matches only the empty text, or if the
  /// vocabulary cannot write any matching text; then the message has the text after which no token fits, and its bytes. Samples throw
  /// nothing later. Calls `on_progress` often, if it is not empty, and rethrows its exceptions.
  TokenGrammar(const Grammar& grammar, std::shared_ptr<const TokenTrie> trie, std::vector<Token> ends,
               const std::function<void()>& on_progress = {});
  ~TokenGrammar();

  /// Returns a constraint for a sample from its beginning. It keeps this object alive.
  std::unique_ptr<TokenConstraint> constraint() const;
  /// Returns a function that makes constraints, for SampleOptions::constraint. It keeps this object alive.
  std::function<std::unique_ptr<TokenConstraint>()> constraints() const;

  /// Returns whether a text matches, and whether one begins with it. For tests.
  bool matches(std::string_view text) const;
  bool can_continue(std::string_view text) const;

  /// Returns how many bytes the cache takes.
  std::size_t memory() const;

 private:
  class Masks;
  class Sample;
  std::unique_ptr<Masks> masks_;
};

}  // namespace dikkat
