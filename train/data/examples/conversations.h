#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "train/chat/chat_template.h"
#include "train/config/data_config.h"
#include "train/data/examples/example_corpus.h"
#include "train/data/samples/packed_samples.h"
#include "train/data/tokens/token_store.h"
#include "train/text/token_bytes.h"

namespace dikkat {

/// Examples for fine-tuning.
using ConversationCorpus = ExampleCorpus<Conversation>;

/// Reads files of examples (read_conversation()): JSONL, a JSON array, or a table. Throws InputError, which names the file and the line or
/// object. Throws it also if the files have no example to learn.
ConversationCorpus read_conversations(std::span<const std::string> paths, const FieldNames& names);

/// Returns how many tokens of a sequence are predicted and scored. The first token is never predicted.
index scored_targets(const ChatTokens& sequence);

/// Sequences of tokens, each of them marked as scored or not.
class ScoredSequences : public Sequences {
 public:
  explicit ScoredSequences(index vocab_size) : tokens_(vocab_size) {}

  /// Returns the number of tokens in all sequences.
  index tokens() const { return tokens_.size(); }

  index count() const override { return static_cast<index>(starts_.size()) - 1; }
  index length(index sequence) const override;
  double target_weight(index sequence) const override;
  void read(index sequence, Token* inputs, Token* targets, float* weights) const override;

 protected:
  /// Appends a sequence of 2 tokens or more.
  void append(const ChatTokens& sequence);

 private:
  index start(index sequence) const;

  TokenStore tokens_;
  std::vector<bool> scored_;         // one flag for each token
  std::vector<index> starts_ = {0};  // the start of each sequence, and the end of the last
};

/// The tokens of examples. If the template writes an answer differently once others follow it, there is a sequence for each answer
/// (ChatTemplate::learn). A sequence longer than a window plus one token is cut at its end, and left out if it then has nothing to predict.
class ConversationStore : public ScoredSequences {
 public:
  /// Encodes examples `first` to `first + count - 1` in parallel; the result does not depend on the threads. Keeps no references. Throws
  /// InputError, which names the file and the line, for a text that the tokenizer cannot encode.
  ConversationStore(const ConversationCorpus& corpus, index first, index count, const Tokenizer& tokenizer, const ChatTemplate& form,
                    ScoredText scored, index window);

  index cut() const { return cut_; }            // number of sequences that were cut
  index left_out() const { return left_out_; }  // number of sequences that have nothing to predict
  /// Returns the bytes of text in all targets (token_bytes.h).
  index scored_bytes() const { return scored_bytes_; }

 private:
  void add(ChatTokens& example, index window, const TokenBytes& bytes);

  index cut_ = 0, left_out_ = 0, scored_bytes_ = 0;
};

}  // namespace dikkat
