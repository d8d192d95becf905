#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "train/text/bpe_vocabulary.h"

/// The files of Hugging Face's tokenizers. They may come from anywhere, so everything that is read is checked.
namespace dikkat {

/// Writes a tokenizer.json (version 1.0, model BPE).
std::string hugging_face_json(const BpeVocabulary& vocabulary);
/// Reads a tokenizer.json: byte-level BPE with one of the splitters of `Splitter`, without a normalizer or with NFC. Throws InputError,
/// which names the field and its value, for other kinds of files. Throws it also for settings with which ids would differ from the
/// original's.
BpeVocabulary from_hugging_face_json(std::string_view json);

/// Returns hugging_face_json(). If it cannot express the vocabulary's text_tokens, returns an object around it.
std::string bpe_json(const BpeVocabulary& vocabulary);
/// Reads both forms of bpe_json(). Throws InputError as from_hugging_face_json() does.
BpeVocabulary from_bpe_json(std::string_view json);

/// The contents of the tokenizer files in a model's folder. Each member is named after its file: tokenizer.json ...
struct HuggingFaceFiles {
  std::string tokenizer_json;
  std::string tokenizer_config_json;
  std::string special_tokens_map_json;
};

/// The settings of the model in tokenizer_config.json.
struct HuggingFaceModel {
  index context = 0;            // the largest number of tokens in a text; 0: not given
  std::string chat_template{};  // in Jinja's language; empty: none
};

HuggingFaceFiles hugging_face_files(const BpeVocabulary& vocabulary, const HuggingFaceModel& model = {});

/// Reads the tokenizer_config.json next to a tokenizer.json into text_tokens: bos and eos, and the tokens that transformers puts around a
/// text (add_bos_token, add_eos_token). Throws InputError for settings that would change the ids of texts: add_prefix_space, and tokens
/// that only this file has. Returns remarks for the user on disagreements between the files, and which file counts.
std::vector<std::string> read_tokenizer_config(std::string_view json, BpeVocabulary& vocabulary);

}  // namespace dikkat
