#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "autograd/base/names.h"
#include "autograd/tape/parameters.h"
#include "layers/transformer_config.h"
#include "train/config/config.h"
#include "train/exchange/formats/weight_type.h"
#include "train/exchange/sentence_transformers.h"
#include "train/text/tokenizer.h"

namespace dikkat {

/// Formats that a model can be exported to: a Hugging Face folder, a GGUF file, llm.c's model file.
enum class ExportFormat { hf, gguf, llmc };
template <>
struct Names<ExportFormat> {
  static constexpr std::string_view of[] = {"hf", "gguf", "llm.c"};
};

struct ExportOptions {
  ExportFormat format = ExportFormat::hf;
  WeightType type = WeightType::f32;  // the element type of matrices; vectors stay f32 in GGUF
  std::string name = "dikkat";        // GGUF's general.name
};

/// A model to write. The references must outlive this.
struct ModelToExport {
  const TransformerConfig& config;  // with all defaults
  const ParameterStore& parameters;
  const Tokenizer& tokenizer;
  std::string chat_template{};           // in the Jinja language; empty if there is none
  std::optional<Token> answer_end{};     // a token that ends an answer, in addition to the tokenizer's end tokens
  AnswerSampling sampling{};             // how answers are drawn
  ClassifyConfig classify{};             // the labels of a classifier (TransformerConfig::classes)
  std::optional<VectorFiles> vectors{};  // how vectors are made of texts; absent: the model was not trained for that
};

/// Writes the model to `path`, a folder (hf) or file, which must not exist. The files are written under another name, synced, read back and
/// renamed. Throws InputError if the format cannot describe the model (the message names the keys of [model]) or does not have the type,
/// and if `path` exists. Returns remarks to print, such as matrices that are stored in another type.
std::vector<std::string> export_model(const ModelToExport& model, const std::filesystem::path& path, const ExportOptions& options = {});

}  // namespace dikkat
