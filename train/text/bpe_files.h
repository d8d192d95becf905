#pragma once

#include <map>
#include <string>
#include <string_view>

#include "train/text/bpe.h"

/// The file formats of byte-level BPE. What is read may come from anywhere, and is checked.
namespace dikkat {

inline constexpr std::string_view kEndOfText = "<|endoftext|>";

/// What such files hold: the tokens of text, and special tokens, which stand for no text, by id.
struct BpeVocabulary {
  Bpe bpe;
  std::map<Token, std::string> special_tokens;

  /// The number of ids: those of both kinds of tokens lie below it.
  index size() const;
};

/// A tokenizer.json of Hugging Face's tokenizers (version 1.0, model BPE, pre-tokenizer ByteLevel).
std::string hugging_face_json(const BpeVocabulary& vocabulary);
/// Throws InputError for another kind of file, and for a tokenizer that splits or changes text in a way that GPT-2's does not
/// (normalizers, other pre-tokenizers, byte fallback, dropout), since its ids would not be those of its owner.
BpeVocabulary from_hugging_face_json(std::string_view json);

/// GPT-2's two files (openai/gpt-2, download_model.py).
struct Gpt2Files {
  std::string vocab_bpe;     // "#version: 0.2", then a merge a line: two tokens, a space between
  std::string encoder_json;  // an object of ids by token
};
Gpt2Files gpt2_files(const BpeVocabulary& vocabulary);
/// <|endoftext|>, where it has an id, is a special token. Throws InputError for files of another kind.
BpeVocabulary from_gpt2_files(const Gpt2Files& files);

}  // namespace dikkat
