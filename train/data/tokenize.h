#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "train/data/corpus.h"
#include "train/data/token_store.h"
#include "train/text/tokenizer_maker.h"

namespace dikkat {

/// make_tokenizer() over all the documents of a corpus, both parts of a split: its errors name the file.
std::unique_ptr<Tokenizer> make_tokenizer(const TokenizerOptions& options, const Corpus& corpus);

/// The tokens of the passages one after another, with the tokenizer's separator, if it has one, between two of them (not at either end).
/// Passages are encoded in parallel; the result does not depend on the threads. Throws InputError that names the file and the byte
/// offset in it.
TokenStore tokenize(const Tokenizer& tokenizer, std::span<const Passage> passages);

}  // namespace dikkat
