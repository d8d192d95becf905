#include "train/exchange/tokenizer_files.h"

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/text/bpe_tokenizer.h"
#include "train/text/byte_tokenizer.h"
#include "train/text/char_tokenizer.h"
#include "train/text/hugging_face/bpe_pipeline.h"
#include "train/text/hugging_face/symbols.h"
#include "train/text/word_tokenizer.h"

namespace dikkat {
namespace {

using nlohmann::ordered_json;

std::string text_of(const Tokenizer& tokenizer, Token id) { return tokenizer.decode(std::span(&id, 1)); }

/// Writes a character tokenizer as BPE in which the whole text is one word. Without merges, the word is divided into its characters.
HuggingFaceFiles files_of_characters(const Tokenizer& tokenizer, index context) {
  ordered_json vocabulary = ordered_json::object();
  for (index id = 0; id < tokenizer.vocab_size(); ++id) {
    vocabulary[text_of(tokenizer, static_cast<Token>(id))] = id;
  }
  const ordered_json model{{"type", "BPE"},
                           {"dropout", nullptr},
                           {"unk_token", nullptr},
                           {"continuing_subword_prefix", nullptr},
                           {"end_of_word_suffix", nullptr},
                           {"fuse_unk", false},
                           {"byte_fallback", false},
                           {"ignore_merges", false},
                           {"vocab", vocabulary},
                           {"merges", ordered_json::array()}};
  const ordered_json whole{
      {"version", "1.0"},      {"truncation", nullptr},    {"padding", nullptr},        {"added_tokens", ordered_json::array()},
      {"normalizer", nullptr}, {"pre_tokenizer", nullptr}, {"post_processor", nullptr}, {"decoder", {{"type", "Fuse"}}},
      {"model", model}};
  const ordered_json config{
      {"tokenizer_class", "PreTrainedTokenizerFast"}, {"clean_up_tokenization_spaces", false}, {"model_max_length", context}};
  return {.tokenizer_json = whole.dump(1), .tokenizer_config_json = config.dump(2), .special_tokens_map_json = "{}"};
}

BpeVocabulary vocabulary_of_bytes(const Tokenizer& tokenizer) {
  std::vector<std::string> tokens;
  for (index id = 0; id < tokenizer.vocab_size(); ++id) {
    tokens.push_back(text_of(tokenizer, static_cast<Token>(id)));
  }
  return {.bpe = Bpe(std::move(tokens), {})};
}

}  // namespace

HuggingFaceFiles hugging_face_files_of(const Tokenizer& tokenizer, const HuggingFaceModel& model) {
  if (const auto* bpe = dynamic_cast<const BpeTokenizer*>(&tokenizer)) {
    return hugging_face_files(bpe->vocabulary(), model);
  }
  if (const auto* pipeline = dynamic_cast<const PipelineTokenizer*>(&tokenizer)) {
    return hugging_face_files(pipeline->contents(), model);
  }
  if (const auto* words = dynamic_cast<const WordTokenizer*>(&tokenizer)) {
    return hugging_face_files(word_pipeline(*words), model);
  }
  if (tokenizer.kind() == CharTokenizer::kKind) {
    return files_of_characters(tokenizer, model.context);
  }
  require_input(tokenizer.kind() == ByteTokenizer::kKind, "Hugging Face has no tokenizer of kind \"", tokenizer.kind(), '"');
  return hugging_face_files(vocabulary_of_bytes(tokenizer), model);
}

}  // namespace dikkat
