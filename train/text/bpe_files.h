#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "train/text/bpe_tokenizer.h"

/// Byte-level BPE in the files that others read and write. Everything that is read may come from anywhere.
namespace dikkat {

/// A tokenizer.json of Hugging Face's tokenizers (version 1.0, model BPE, pre-tokenizer ByteLevel).
std::string hugging_face_json(const BpeTokenizer& tokenizer);
/// Throws InputError for what is no such file, and for one that cuts or changes a text in a way that GPT-2's tokenizer does not
/// (normalizers, other pre-tokenizers, byte fallback, dropout): it would give other tokens than its owner's.
std::unique_ptr<BpeTokenizer> from_hugging_face_json(std::string_view json);

/// GPT-2's two files (openai/gpt-2, download_model.py).
struct Gpt2Files {
  std::string vocab_bpe;     // "#version: 0.2", then a merge a line: two tokens, a space between
  std::string encoder_json;  // an object of ids by token
};
Gpt2Files gpt2_files(const BpeTokenizer& tokenizer);
/// <|endoftext|>, where it has an id, is a control token. Throws InputError for what are no such files.
std::unique_ptr<BpeTokenizer> from_gpt2_files(const Gpt2Files& files);

}  // namespace dikkat
