#pragma once

#include <functional>
#include <limits>

#include "train/data/corpus/corpus.h"
#include "train/text/tokenizer.h"

namespace dikkat {

/// The size of a corpus in several units. A word is text between white space.
struct TextSize {
  index bytes = 0, words = 0, tokens = 0;
  index new_tokens = 0;  // of `tokens`, those that a vocabulary was extended by

  double tokens_per_word() const { return static_cast<double>(tokens) / static_cast<double>(words); }
  double tokens_per_byte() const { return static_cast<double>(tokens) / static_cast<double>(bytes); }
  bool operator==(const TextSize&) const = default;
};

/// Reads a corpus once, on TBB's threads; the result does not depend on them. Tokens between documents are not counted. Tokens with ids of
/// `first_new` or more are new ones. `progress` gets the bytes done. Throws InputError, which names the file and the byte, for text that
/// cannot be encoded, and for a corpus without words.
TextSize size_of_text(const Corpus& corpus, const Tokenizer& tokenizer, Token first_new = std::numeric_limits<Token>::max(),
                      const std::function<void(index)>& progress = {});

}  // namespace dikkat
