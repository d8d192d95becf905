#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "train/text/bpe_vocabulary.h"

/// The files of Hugging Face's tokenizers. They may come from anywhere; everything that is read is checked.
namespace dikkat {

/// Writes a tokenizer.json (version 1.0, model BPE).
std::string hugging_face_json(const BpeVocabulary& vocabulary);
/// Reads one: byte-level BPE with a splitter of `Splitter`, without normalizer or with NFC. Throws InputError, which names the field and
/// its value, for another kind of file, and for what would give other ids than its owner's tokenizer does.
BpeVocabulary from_hugging_face_json(std::string_view json);

/// hugging_face_json() or, if the vocabulary's text_tokens have what that cannot say, an object around it.
std::string bpe_json(const BpeVocabulary& vocabulary);
/// Reads both. Throws InputError as from_hugging_face_json() does.
BpeVocabulary from_bpe_json(std::string_view json);

/// The files of a tokenizer in a model's folder, by the names of the members: tokenizer.json ...
struct HuggingFaceFiles {
  std::string tokenizer_json;
  std::string tokenizer_config_json;
  std::string special_tokens_map_json;
};

/// What tokenizer_config.json says of the model.
struct HuggingFaceModel {
  index context = 0;            // the most tokens of a text; 0: not said
  std::string chat_template{};  // in Jinja's language; empty: none
};

HuggingFaceFiles hugging_face_files(const BpeVocabulary& vocabulary, const HuggingFaceModel& model = {});

/// Reads the tokenizer_config.json beside a tokenizer.json into text_tokens: bos and eos, and what transformers' class puts around a text
/// (add_bos_token, add_eos_token). Throws InputError for what would change the ids of texts: tokens that only this file has, and
/// add_prefix_space. Returns remarks for people: where the two files disagree, and which of them counts.
std::vector<std::string> read_tokenizer_config(std::string_view json, BpeVocabulary& vocabulary);

}  // namespace dikkat
