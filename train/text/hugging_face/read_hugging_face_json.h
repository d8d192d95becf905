#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "train/text/bpe_vocabulary.h"
#include "train/text/hugging_face/bpe_pipeline.h"

// Reads the files of Hugging Face's tokenizers. They may come from anywhere, so everything that is read is checked.
namespace dikkat {

/// The contents of a tokenizer.json: byte-level BPE with a `Splitter`, without a normalizer or with NFC; or BPE of any other kind.
using BpeContents = std::variant<BpeVocabulary, BpePipeline>;

/// Returns the tokenizer with these contents.
std::unique_ptr<Tokenizer> make_bpe_tokenizer(BpeContents contents);

/// Reads a tokenizer.json of the byte-level kind. Throws InputError, which names the field and its value, for other kinds of files. Throws
/// it also for settings with which ids would differ from the original's.
BpeVocabulary from_hugging_face_json(std::string_view json);

/// Reads both forms of bpe_json() (write_hugging_face_json.h). Throws InputError as from_hugging_face_json() does.
BpeVocabulary from_bpe_json(std::string_view json);

/// Read the tokenizer_config.json next to a tokenizer.json into text_tokens: bos and eos, and the tokens that transformers puts around a
/// text (add_bos_token, add_eos_token). Throw InputError for settings that would change the ids of texts: add_prefix_space, and tokens
/// that only this file has. Return remarks for the user on disagreements between the files, and which file counts.
std::vector<std::string> read_tokenizer_config(std::string_view json, BpeVocabulary& vocabulary);
std::vector<std::string> read_tokenizer_config(std::string_view json, BpePipeline& contents);

}  // namespace dikkat
