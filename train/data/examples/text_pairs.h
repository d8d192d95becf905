#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "train/config/data_config.h"
#include "train/data/examples/example_corpus.h"
#include "train/data/samples/read_texts.h"
#include "train/text/tokenizer.h"

namespace dikkat {

/// Two texts that belong together, such as a question and its answer, and texts that seem to belong to the first one but do not.
struct TextPair {
  std::string anchor{}, positive{};
  std::vector<std::string> negatives{};
};

using TextPairCorpus = ExampleCorpus<TextPair>;

/// Reads an object: an anchor and a positive, and perhaps negatives, a text or a list of texts (text_pair_keys.h). Throws InputError for
/// anything else, and for a blank text.
TextPair to_text_pair(const nlohmann::ordered_json& object);

/// Reads files of pairs: JSONL, a JSON array, or a table. Throws InputError, which names the file and the line or row. `names.pairs` is set
/// here.
TextPairCorpus read_text_pairs(std::span<const std::string> paths, FieldNames names);

/// The tokens of pairs. Each pair has its anchor, its positive and its negatives, one after another. As Sequences, all tokens of each text
/// are scored, so that fingerprints cover them. Texts that are longer than a window are cut at their end. A pair is left out if its sides
/// are then equal, because nothing can be learned from it.
class TextPairStore : public Sequences {
 public:
  /// Encodes examples `first` to `first + count - 1` in parallel; the result does not depend on the threads. Keeps no references. Throws
  /// InputError, which names the file and the line, for a text that the tokenizer cannot encode or that has no tokens.
  TextPairStore(const TextPairCorpus& corpus, index first, index count, const Tokenizer& tokenizer, index window);

  index pairs() const { return std::ssize(first_texts_) - 1; }
  /// Returns the texts of a pair: first_text(pair) up to first_text(pair + 1), which is not included.
  index first_text(index pair) const { return first_texts_[static_cast<std::size_t>(pair)]; }
  const ReadTextStore& texts() const { return texts_; }
  std::span<const Token> text(index text) const { return texts_.text(text); }
  /// Returns the number of tokens of a pair's texts.
  index tokens_of(index pair) const;

  index tokens() const { return texts_.tokens(); }
  index bytes() const { return texts_.bytes() + std::ssize(first_texts_) * static_cast<index>(sizeof(index)); }
  index cut() const { return cut_; }                               // number of texts that were cut
  index equal() const { return equal_; }                           // number of pairs whose sides are equal
  const std::string& first_equal() const { return where_equal_; }  // the place of the first of them

  index count() const override { return texts_.count(); }
  index length(index sequence) const override { return texts_.length(sequence); }
  double target_weight(index sequence) const override { return static_cast<double>(length(sequence)); }
  void read(index sequence, Token* inputs, Token* targets, float* weights) const override;

 private:
  ReadTextStore texts_;
  std::vector<index> first_texts_ = {0};  // the first text of each pair, and the number of all
  index cut_ = 0, equal_ = 0;
  std::string where_equal_;
};

}  // namespace dikkat
