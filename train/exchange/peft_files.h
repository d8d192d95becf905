#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "autograd/tape/parameters.h"
#include "layers/transformer_config.h"
#include "train/exchange/tensor_map.h"

namespace dikkat {

/// PEFT's names of the factors of a linear layer's adapter.
inline constexpr AdapterNames kPeftNames{.before = "base_model.model.", .cut = ".weight", .a = ".lora_A.weight", .b = ".lora_B.weight"};

/// Returns the module of a tensor: its name without the last part.
std::string module_of(std::string_view tensor);

/// The factors of an adapter, which adds scale B A to some rows of a weight of its base.
struct PeftFactors {
  const ParameterStore::Entry* weight = nullptr;  // (out, in)
  MappedRows rows{};                              // the rows of `weight`, which a file may have in another order
  const WeightTensor *a = nullptr, *b = nullptr;  // (rank, in) and (rows, rank), in the file
};

/// A tensor of a module that was trained in full (modules_to_save): it replaces rows of a parameter of the base.
struct PeftReplacement {
  MappedTensor ours;
  const WeightTensor* theirs = nullptr;
};

/// The changes of a base by PEFT's files.
struct PeftChanges {
  std::vector<PeftFactors> factors{};
  std::vector<PeftReplacement> replacements{};
};

/// Low-rank adapters (LoRA) in a PEFT folder: adapter_config.json and adapter_model.safetensors. In PEFT every layer has its own A, but in
/// ours query, key and value share one, and so do gate and up. So PEFT's adapters can only be added to the weights of their base.
/// Modules that were trained in full (modules_to_save) replace those of the base.
class PeftFiles {
 public:
  /// Returns whether the path is a folder with an adapter_config.json.
  static bool is_at(const std::filesystem::path& path);

  /// Reads the configuration and opens the tensors. Throws InputError for files that are missing or damaged, and for adapters that do more
  /// than add B A to linear layers and replace modules. The message names the key.
  explicit PeftFiles(const std::filesystem::path& path);
  ~PeftFiles();
  PeftFiles(PeftFiles&&) noexcept;
  PeftFiles& operator=(PeftFiles&&) noexcept;

  const std::filesystem::path& path() const;
  /// Returns the name or path of the base model; empty if the files do not name it.
  const std::string& base() const;
  /// Returns lora_alpha / r, or lora_alpha / sqrt(r) with use_rslora.
  double scale() const;

  /// Returns whether the sum has a head of its own although the base's is its token table: PEFT trains the two separately.
  bool unties_head(const TransformerConfig& config, const ParameterStore& store) const;
  /// Returns the changes of a base with this configuration and these parameters, which need no memory. Throws InputError, which lists all
  /// tensors that are missing, misshapen or belong neither to an adapted layer nor to a replaced module of this model.
  PeftChanges changes(const TransformerConfig& config, const ParameterStore& store) const;

 private:
  struct Contents;
  std::unique_ptr<Contents> contents_;
};

}  // namespace dikkat
