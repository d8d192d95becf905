#include "layers/lora_config.h"

#include <algorithm>
#include <cmath>

#include <fnmatch.h>

namespace dikkat {

LoraConfig with_defaults(LoraConfig config) {
  config.alpha.derive(2 * static_cast<double>(std::max<index>(config.rank, 1)));  // a valid value even without adapters
  return config;
}

double scale_of(const LoraConfig& config) {
  const auto rank = static_cast<double>(config.rank);
  return *with_defaults(config).alpha / (config.rank_stabilized ? std::sqrt(rank) : rank);
}

bool is_saved(const LoraConfig& config, std::string_view path, Role role, bool is_head) {
  return std::ranges::any_of(config.modules_to_save, [&](const std::string& part) {
    return (part == kEmbeddingModule && role == Role::embedding) || (part == kHeadModule && is_head) ||
           ::fnmatch(part.c_str(), std::string(path).c_str(), 0) == 0;
  });
}

bool is_target(const LoraConfig& config, std::string_view weight_path) {
  if (is_saved(config, weight_path, Role::hidden, false)) {
    return false;
  }
  const std::string path(weight_path);
  const bool in_feed_forward = path.find(".mlp.") != std::string::npos;
  for (const std::string& target : config.targets) {
    if (target == "all" || (target == "feed_forward" && in_feed_forward) || (target == "attention" && !in_feed_forward) ||
        ::fnmatch(target.c_str(), path.c_str(), 0) == 0) {
      return true;
    }
  }
  return false;
}

}  // namespace dikkat
