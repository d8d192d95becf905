#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "train/data/fingerprint.h"
#include "train/data/packed_samples.h"
#include "train/data/token_store.h"
#include "train/text/chat/chat_template.h"
#include "train/text/chat/example_findings.h"

namespace dikkat {

/// Examples for fine-tuning, in the order of files and lines.
struct ConversationCorpus {
  std::vector<Conversation> examples;
  std::vector<std::string> places;  // of each: "FILE: line 7"
  std::string fingerprint;          // of the lines (fingerprint.h)
  DocumentHashes documents{};       // of each line
  ExampleFindings found;            // for notes
  index files = 0;
  index bytes = 0;  // of the files' texts

  /// The place of the first example that is not a text; nullptr if there is none.
  const std::string* first_conversation() const;
};

/// Whether the paths name conversations: a line of one of the .jsonl files is one (is_conversation()). Reads all lines up to that one.
/// Standard input is a text.
bool are_conversations(std::span<const std::string> paths, const std::string& text_field);

/// Reads files of JSONL, one example on each line (read_conversation()); blank lines are skipped. Throws InputError, which names the file
/// and the line, and for files without an example that is to be learnt.
ConversationCorpus read_conversations(std::span<const std::string> paths, const std::string& text_field);

/// The tokens of examples, each with what the loss is over. An example with more tokens than a window and one more is cut at its end. One
/// that then has nothing to predict is left out.
class ConversationStore : public Sequences {
 public:
  /// Encodes in parallel; the result does not depend on the threads. Keeps no references. Throws InputError, which names the file and the
  /// line, for a text that the tokenizer cannot encode.
  ConversationStore(const ConversationCorpus& corpus, index first, index count, const Tokenizer& tokenizer, const ChatTemplate& form,
                    ScoredText scored, index window);

  index cut() const { return cut_; }            // examples that lost their end
  index left_out() const { return left_out_; }  // examples that are to be learnt, but of which nothing can be predicted
  index tokens() const { return tokens_.size(); }
  /// Bytes of the text of all targets (token_bytes.h).
  index scored_bytes() const { return scored_bytes_; }

  index count() const override { return static_cast<index>(starts_.size()) - 1; }
  index length(index sequence) const override;
  double target_weight(index sequence) const override;
  void read(index sequence, Token* inputs, Token* targets, float* weights) const override;

 private:
  index start(index sequence) const;

  TokenStore tokens_;
  std::vector<bool> scored_;         // of each token
  std::vector<index> starts_ = {0};  // of each example, and the end of the last
  index cut_ = 0, left_out_ = 0, scored_bytes_ = 0;
};

}  // namespace dikkat
