#include "layers/lora.h"

#include <cmath>

namespace dikkat {

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
