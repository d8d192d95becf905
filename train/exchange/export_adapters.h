#pragma once

#include <filesystem>
#include <string>

#include "layers/lora.h"
#include "train/exchange/export_model.h"

namespace dikkat {

/// Adapters to be written; the references must outlive them.
struct AdaptersToExport {
  const TransformerConfig& config;  // with all defaults
  const LoraConfig& lora;
  const ParameterStore& parameters;  // with the adapters' values; those of the base are not read
  std::string base;                  // the name or path of the model that they adapt
};

/// Writes adapters without their base: a folder of Hugging Face's PEFT (adapter_config.json, adapter_model.safetensors), or a GGUF file for
/// llama.cpp
/// (--lora). In f32. Throws InputError where the format has no model of this kind, and if `path` exists.
void export_adapters(const AdaptersToExport& adapters, const std::filesystem::path& path, ExportFormat format);

}  // namespace dikkat
