#pragma once

#include <filesystem>
#include <string>

#include "layers/lora_config.h"
#include "train/exchange/export_model.h"
#include "train/exchange/family.h"

namespace dikkat {

/// Adapters to write. The references must outlive this.
struct AdaptersToExport {
  const TransformerConfig& config;  // with all defaults
  const LoraConfig& lora;
  const ParameterStore& parameters;  // only values that are stored with the adapters are read
  std::string base;                  // the name or path of the base model
  const Family* base_family{};       // its family, which names the tensors; null: the first that describes the model
};

/// Writes adapters without their base, in f32: a PEFT folder (adapter_config.json, adapter_model.safetensors), or a GGUF file for
/// llama.cpp's --lora. Modules that were trained in full (lora.modules_to_save) are written only to PEFT. Throws InputError if the format
/// cannot describe the model or hold the adapters, and if `path` exists.
void export_adapters(const AdaptersToExport& adapters, const std::filesystem::path& path, ExportFormat format);

}  // namespace dikkat
