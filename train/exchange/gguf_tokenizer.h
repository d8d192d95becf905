#pragma once

#include <memory>
#include <string>
#include <vector>

#include "train/exchange/formats/metadata.h"
#include "train/exchange/formats/weight_file.h"
#include "train/text/tokenizer.h"

namespace dikkat {

/// Adds the tokenizer's values, for a token table with `rows` rows. Bytes, characters, and symbols without spaces are written as RWKV's
/// kind, which takes the longest token at each position of a text. Returns notes on rules that GGUF has no place for, with which some texts
/// get other tokens. Throws InputError for words, symbols with spaces between them, and rules that GGUF has no name for.
std::vector<std::string> add_gguf_tokenizer(const Tokenizer& tokenizer, index rows, std::vector<MetaEntry>& metadata);

/// Reads a GGUF file's tokenizer. Throws InputError for a kind other than byte-level BPE, SentencePiece's ("llama") and RWKV's, and for an
/// unknown splitter.
std::unique_ptr<Tokenizer> read_gguf_tokenizer(const WeightFile& file);

}  // namespace dikkat
