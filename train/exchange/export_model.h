#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "autograd/base/names.h"
#include "autograd/tape/parameters.h"
#include "layers/transformer_config.h"
#include "train/exchange/formats/weight_type.h"
#include "train/text/tokenizer.h"

namespace dikkat {

/// Other programs' formats that a model can be written in: a folder of Hugging Face, a GGUF file, llm.c's model file.
enum class ExportFormat { hf, gguf, llmc };
template <>
struct Names<ExportFormat> {
  static constexpr std::string_view of[] = {"hf", "gguf", "llm.c"};
};

struct ExportOptions {
  ExportFormat format = ExportFormat::hf;
  WeightType type = WeightType::f32;  // of matrices; vectors stay f32 in GGUF
  std::string name = "dikkat";        // general.name of GGUF
};

/// A model to be written; the references must outlive it.
struct ModelToExport {
  const TransformerConfig& config;  // with all defaults
  const ParameterStore& parameters;
  const Tokenizer& tokenizer;
  std::string chat_template{};        // in Jinja's language; empty: none
  std::optional<Token> answer_end{};  // ends an answer, besides the tokenizer's own ends
};

/// Writes the model to `path`, a folder (hf) or file, which must not exist: under another name first, synced, read back and renamed. Throws
/// InputError where the format has no way to say something of the model (it names the keys of [model] that stand in the way), for a type
/// that the format does not have, and if `path` exists. Returns remarks for people, such as matrices that are stored in another type.
std::vector<std::string> export_model(const ModelToExport& model, const std::filesystem::path& path, const ExportOptions& options = {});

}  // namespace dikkat
