#include "train/exchange/family.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "autograd/base/error.h"
#include "train/exchange/families/families.h"

namespace dikkat {

// A model is exported as the first family that has it. So a Mistral without a window is a Llama, and so are a SmolLM3 with RoPE everywhere
// and a Phi-3 without LongRoPE.
std::span<const Family> families() {
  using namespace family_tables;
  static const std::array kFamilies{gpt2_family(),    llama_family(),   qwen2_family(),   qwen3_family(),
                                    mistral_family(), smollm3_family(), granite_family(), granite_hybrid_family(),
                                    olmo2_family(),   gemma3_family(),  phi3_family()};
  return kFamilies;
}

std::string family_names() {
  std::string names;
  for (const Family& family : families()) {
    names += concat(names.empty() ? "" : ", ", family.name);
  }
  return names;
}

const Family* family_named(std::string_view name) {
  for (const Family& family : families()) {
    if (family.name == name) {
      return &family;
    }
  }
  return nullptr;
}

const Family* family_of_gguf(std::string_view architecture) {
  for (const Family& family : families()) {
    if (!family.gguf.empty() && gguf_name_of(family) == architecture) {
      return &family;
    }
  }
  return nullptr;
}

bool is_coded(const Family& family, std::string_view key) { return std::ranges::find(family.coded, key) != family.coded.end(); }

std::string_view name_in(std::span<const TensorRule> rules, std::string_view ours) {
  const auto found = std::ranges::find(rules, ours, &TensorRule::ours);
  return found != rules.end() ? found->parts[0].name : "";
}

double ours_of(Form form, double theirs) {
  switch (form) {
    case Form::same: return theirs;
    case Form::inverse: return 1 / theirs;
    case Form::inverse_root: return 1 / std::sqrt(theirs);
  }
  return theirs;
}

double theirs_of(Form form, double ours) {
  if (form == Form::same) {
    return ours;
  }
  return std::stod(fmt::format("{:.15g}", form == Form::inverse ? 1 / ours : 1 / (ours * ours)));
}

}  // namespace dikkat
