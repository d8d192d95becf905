#pragma once

#include <string>

#include "train/text/bpe_vocabulary.h"
#include "train/text/hugging_face/bpe_pipeline.h"

// Writes the files of Hugging Face's tokenizers.
namespace dikkat {

/// Writes a tokenizer.json (version 1.0, model BPE).
std::string hugging_face_json(const BpeVocabulary& vocabulary);

/// Returns hugging_face_json(). If it cannot express the vocabulary's text_tokens, returns an object around it.
std::string bpe_json(const BpeVocabulary& vocabulary);

/// Returns the JSON text for a tokenizer of any kind of BPE: its tokenizer.json, or an object around it.
std::string pipeline_json(const BpePipeline& contents);

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
  bool pads = false;            // eos also fills batches: a classifier finds the last token before it
};

HuggingFaceFiles hugging_face_files(const BpeVocabulary& vocabulary, const HuggingFaceModel& model = {});
HuggingFaceFiles hugging_face_files(const BpePipeline& contents, const HuggingFaceModel& model = {});

}  // namespace dikkat
