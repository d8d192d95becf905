#pragma once

#include <memory>

#include <nlohmann/json_fwd.hpp>

#include "train/text/hugging_face/write_hugging_face_json.h"
#include "train/text/symbol_tokenizer.h"

/// The files of a vocabulary of given strings. Hugging Face's library calls such a model WordLevel. This header is private to its folder
/// and train/exchange.
namespace dikkat {

struct TokenizerJson;

/// Throws InputError for a symbol that is spelled like a special token.
HuggingFaceFiles hugging_face_files(const SymbolVocabulary& vocabulary, const HuggingFaceModel& model = {});

/// Returns whether a parsed tokenizer.json has the model WordLevel.
bool is_word_level(const nlohmann::json& file);

/// Reads a tokenizer.json with this model. Throws InputError, which names the field, unless it splits texts as hugging_face_files() does,
/// or at white space (WhitespaceSplit) without a decoder.
std::unique_ptr<Tokenizer> word_level_in(const TokenizerJson& json);

}  // namespace dikkat
