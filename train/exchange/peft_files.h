#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "autograd/tape/parameters.h"
#include "layers/transformer_config.h"
#include "train/exchange/tensor_map.h"

namespace dikkat {

/// How PEFT names the factors of a linear layer's adapter.
inline constexpr AdapterNames kPeftNames{.before = "base_model.model.", .cut = ".weight", .a = ".lora_A.weight", .b = ".lora_B.weight"};

/// What adapters add to rows of a weight of their base: scale B A.
struct PeftFactors {
  const ParameterStore::Entry* weight = nullptr;  // (out, in)
  index first_row = 0, rows = 0;                  // of it
  const WeightTensor *a = nullptr, *b = nullptr;  // (rank, in), (rows, rank), in the file
};

/// Adapters of low rank (LoRA) in a folder of Hugging Face's PEFT: adapter_config.json and adapter_model.safetensors. Each layer of a file
/// has an A of its own, where ours share one (query, key and value; gate and up), so these are added to the weights of their base.
class PeftFiles {
 public:
  /// Whether there is a folder with an adapter_config.json.
  static bool is_at(const std::filesystem::path& path);

  /// Reads the configuration, and opens the tensors. Throws InputError for files that are missing or damaged, and for adapters that are
  /// more than B A beside linear layers; it names the key.
  explicit PeftFiles(const std::filesystem::path& path);
  ~PeftFiles();
  PeftFiles(PeftFiles&&) noexcept;
  PeftFiles& operator=(PeftFiles&&) noexcept;

  const std::filesystem::path& path() const;
  /// The model that they adapt: a name or a path; empty if the files do not say.
  const std::string& base() const;
  /// lora_alpha / r, or lora_alpha / sqrt(r).
  double scale() const;

  /// The factors for a base with this configuration and these parameters, which need no memory. Throws InputError if there are tensors that
  /// are missing, misshapen or not of a linear layer of this model: all of them are listed.
  std::vector<PeftFactors> factors(const TransformerConfig& config, const ParameterStore& store) const;

 private:
  struct Contents;
  std::unique_ptr<Contents> contents_;
};

}  // namespace dikkat
