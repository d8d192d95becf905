#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "autograd/base/packed_matrix.h"
#include "autograd/tape/parameters.h"
#include "layers/defaulted.h"

namespace dikkat {

/// Adapters of low rank (LoRA; Hu et al. 2021, arXiv 2106.09685): a linear layer x W^T becomes x W^T + scale (x A^T) B^T, and W is frozen.
/// Some other parameters may be trained in full. It is also the [lora] section of a configuration file.
struct LoraConfig {
  index rank = 0;                              // rows of A, columns of B; 0: no adapters
  Defaulted<double> alpha{};                   // 2 rank
  double dropout = 0;                          // dropout of the input of A, in training
  bool decay = true;                           // whether the optimizer's weight decay applies to A and B
  bool rank_stabilized = false;                // scale is alpha / sqrt(rank) (Kalajdzievski 2023, arXiv 2312.03732) instead of alpha / rank
  std::vector<std::string> targets = {"all"};  // the layers: "attention", "feed_forward", "all", or patterns of their weights' paths
  std::vector<std::string> modules_to_save{};  // parameters trained in full: "embedding", "head", or patterns of parameters' paths
  PackedType base = PackedType::f32;           // how the matrices that are not trained are stored

  bool operator==(const LoraConfig&) const = default;
};

/// The names in LoraConfig::modules_to_save that are not patterns.
inline constexpr std::string_view kEmbeddingModule = "embedding", kHeadModule = "head";

/// Computes alpha's default.
LoraConfig with_defaults(LoraConfig config);
double scale_of(const LoraConfig& config);
/// Returns whether modules_to_save has a parameter of the base with this path and role, which is then trained in full. `is_head`: whether
/// it is the output head, which a tied embedding is too.
bool is_saved(const LoraConfig& config, std::string_view path, Role role, bool is_head);
/// Returns whether the linear layer whose weight has this path has an adapter. A weight that is trained in full has none.
bool is_target(const LoraConfig& config, std::string_view weight_path);

}  // namespace dikkat
