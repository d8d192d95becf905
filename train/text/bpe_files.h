#pragma once

#include <map>
#include <string>
#include <string_view>

#include "train/text/bpe.h"

/// The file formats of byte-level BPE. Files may come from anywhere; everything that is read is checked.
namespace dikkat {

inline constexpr std::string_view kEndOfText = "<|endoftext|>";

/// The contents of such files: the tokens of text, and the special tokens by id.
struct BpeVocabulary {
  Bpe bpe;
  std::map<Token, std::string> special_tokens;

  /// The number of ids, those of special tokens included.
  index size() const;
};

/// Writes a tokenizer.json of Hugging Face's tokenizers (version 1.0, model BPE, pre-tokenizer ByteLevel).
std::string hugging_face_json(const BpeVocabulary& vocabulary);
/// Reads one. Throws InputError for another kind of file, and for a tokenizer with features that GPT-2's does not have (normalizers, other
/// pre-tokenizers, byte fallback, dropout), because ids would differ from those of the original.
BpeVocabulary from_hugging_face_json(std::string_view json);

/// GPT-2's two files (openai/gpt-2, download_model.py).
struct Gpt2Files {
  std::string vocab_bpe;     // "#version: 0.2", then one merge on each line: two tokens with a space between
  std::string encoder_json;  // an object with the id of each token
};
Gpt2Files gpt2_files(const BpeVocabulary& vocabulary);
/// Reads them. <|endoftext|> becomes a special token if it has an id. Throws InputError for files of another kind.
BpeVocabulary from_gpt2_files(const Gpt2Files& files);

}  // namespace dikkat
