#include "layers/lora.h"

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

namespace {

Decay decay_of(const LoraConfig& config) { return config.decay ? Decay::yes : Decay::no; }

}  // namespace

Adapter::Adapter(const Scope& s, const LoraConfig& config, index in, index out)
    : a(s.param("lora_a", {config.rank, in}, Init::normal(1 / std::sqrt(3 * static_cast<double>(in))), decay_of(config), Role::adapter)),
      b(s.param("lora_b", {out, config.rank}, Init::zeros(), decay_of(config), Role::adapter)),
      dropout(s / "lora", config.dropout),
      scale(scale_of(config)) {}

std::optional<Adapter> adapter_of(const Scope& s, index in, index out) {
  if (s.lora() == nullptr || s.lora()->rank == 0 || !is_target(*s.lora(), s.path() + ".weight")) {
    return {};
  }
  return Adapter(s, *s.lora(), in, out);
}

}  // namespace dikkat
