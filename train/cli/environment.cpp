#include "train/cli/environment.h"

#include <cstdlib>
#include <string_view>
#include <utility>

#include <unistd.h>

#include "autograd/base/error.h"
#include "autograd/kernels/instruction_set.h"
#include "train/cli/terminal/streams.h"
#include "train/config/value.h"
#include "train/system/nearest_word.h"

namespace dikkat {
namespace {

constexpr std::string_view kPrefix = "DIKKAT_";
/// Every variable that the program reads, without the prefix.
constexpr std::string_view kVariables[] = {"API_KEY", "BF16", "CACHE_GB", "ENGINE", "ISA"};

/// Returns the value of DIKKAT_ISA for the instruction set in use; empty if there is none.
std::string_view name_of_set() {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {{"SSE4.2", "sse42"},
                                                                      {"AVX2", "avx2"},
                                                                      {"AVX-512", "avx512"},
                                                                      {"AVX-512 with bf16", "avx512bf16"},
                                                                      {"AMX", "amx"},
                                                                      {"NEON", "neon"},
                                                                      {"NEON with dot products", "neondot"},
                                                                      {"NEON with bf16", "neonbf16"}};
  for (const auto& [set, name] : kNames) {
    if (set == kernels::instruction_set()) {
      return name;
    }
  }
  return "";
}

/// Checks DIKKAT_ISA, unless its value has been used or refused before main() (choose_instruction_set.h): by a build with several
/// instruction sets, and "amx" and "avx512bf16" by one for AVX-512 with bf16.
void check_instruction_set(std::string_view wanted) {
  const std::string_view own = name_of_set();
  require_input(wanted.empty() || wanted == own, "DIKKAT_ISA is ", schema::in_quotes(wanted), ", expected ",
                own.empty()    ? "it to be unset"
                : own == "amx" ? "amx or avx512bf16"
                               : own,
                ": this build was compiled for one instruction set (", kernels::instruction_set(),
                "); a build with the preset portable, or portable-arm64, has several");
}

/// Checks DIKKAT_BF16 (base/choose_instruction_set.h).
void check_bf16(std::string_view wanted) {
  const bool has_both = kernels::has_bf16_products();
  require_input(wanted.empty() || wanted == "widen" || (wanted == "dot" && has_both), "DIKKAT_BF16 is ", schema::in_quotes(wanted),
                ", expected ", has_both ? "dot or widen" : "widen: this processor, or this build, has no instruction for bf16");
}

}  // namespace

void check_environment() {
  for (char** entry = ::environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    if (name == "DIKKAT_ISA") {
      check_instruction_set(text.substr(name.size() + 1));
    } else if (name == "DIKKAT_BF16") {
      check_bf16(text.substr(name.size() + 1));
    }
    const std::string_view word = name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : "";
    const std::string_view meant = word.empty() ? "" : nearest_word(kVariables, word);
    if (!meant.empty() && meant != word) {
      warn(concat("note: dikkat does not read the environment variable ", name, "; did you mean ", kPrefix, meant, "?"));
    }
  }
}

}  // namespace dikkat
