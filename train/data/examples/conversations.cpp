#include "train/data/examples/conversations.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/chat/read_conversation.h"
#include "train/data/examples/read_examples.h"
#include "train/system/json.h"
#include "train/text/token_bytes.h"

namespace dikkat {

ConversationCorpus read_conversations(std::span<const std::string> paths, const FieldNames& names) {
  ConversationCorpus corpus;
  for_examples(paths, names,
               "conversations or examples in every file: objects in JSONL or in a JSON array, or rows of a table (data.sources mixes texts "
               "and examples)",
               corpus, [&](const nlohmann::ordered_json& object) { return to_conversation(object, names.text, corpus.found); });
  require_input(std::ranges::any_of(corpus.examples, &Conversation::learn), "corpus: ", paths.front(),
                " has no example to learn: \"label\", \"weight\", \"train\" or \"loss\" excludes every example");
  return corpus;
}

ConversationStore::ConversationStore(const ConversationCorpus& corpus, index first, index count, const Tokenizer& tokenizer,
                                     const ChatTemplate& form, ScoredText scored, index window)
    : ScoredSequences(tokenizer.vocab_size()) {
  // Encode all examples in parallel.
  auto encoded =
      encode_examples(corpus, first, count, [&](const Conversation& example) { return encode(tokenizer, form, example, scored); });
  // Store them: cut long ones, and leave out those without a target.
  const TokenBytes bytes(tokenizer);
  for (index i = 0; i < count; ++i) {
    if (corpus.examples[static_cast<std::size_t>(first + i)].learn) {
      for (ChatTokens& example : encoded[static_cast<std::size_t>(i)]) {
        add(example, window, bytes);
      }
    }
    encoded[static_cast<std::size_t>(i)] = {};  // frees the memory before the next examples are copied
  }
}

void ConversationStore::add(ChatTokens& example, index window, const TokenBytes& bytes) {
  if (std::ssize(example.tokens) > window + 1) {
    example.tokens.resize(static_cast<std::size_t>(window) + 1);
    example.scored.resize(example.tokens.size());
    ++cut_;
  }
  if (scored_targets(example) == 0) {
    ++left_out_;
    return;
  }
  std::vector<Token> targets;
  for (std::size_t at = 1; at < example.tokens.size(); ++at) {
    if (example.scored[at]) {
      targets.push_back(example.tokens[at]);
    }
  }
  scored_bytes_ += bytes.of(targets);
  append(example);
}

index scored_targets(const ChatTokens& sequence) {
  return sequence.scored.empty() ? 0 : std::count(sequence.scored.begin() + 1, sequence.scored.end(), true);
}

void ScoredSequences::append(const ChatTokens& sequence) {
  tokens_.append(sequence.tokens);
  scored_.insert(scored_.end(), sequence.scored.begin(), sequence.scored.end());
  starts_.push_back(tokens_.size());
}

index ScoredSequences::start(index sequence) const {
  require(0 <= sequence && sequence < count(), "scored sequences: number ", sequence, ", expected 0 to ", count() - 1);
  return starts_[static_cast<std::size_t>(sequence)];
}

index ScoredSequences::length(index sequence) const { return starts_[static_cast<std::size_t>(sequence) + 1] - start(sequence) - 1; }

double ScoredSequences::target_weight(index sequence) const {
  const auto begin = scored_.begin() + start(sequence) + 1;
  return static_cast<double>(std::count(begin, begin + length(sequence), true));
}

void ScoredSequences::read(index sequence, Token* inputs, Token* targets, float* weights) const {
  const index begin = start(sequence);
  const index count = length(sequence);
  tokens_.read(begin, count, inputs);
  tokens_.read(begin + 1, count, targets);
  for (index i = 0; i < count; ++i) {
    weights[i] = scored_[static_cast<std::size_t>(begin + 1 + i)] ? 1.0F : 0.0F;
  }
}

}  // namespace dikkat
