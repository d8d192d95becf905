#include "train/text/known_regex.h"

#include <algorithm>
#include <iterator>

namespace dikkat {
namespace {

// o200k, which OpenAI's gpt-4o and gpt-oss have, and Phi-4-mini: words of capital letters before words of small ones.
constexpr std::string_view kO200k =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr KnownRegex kKnown[] = {
    {.regex = kO200k, .gguf = "gpt-4o", .line_breaks = true, .joins_after_break = "/", .ignore_merges = true},
};

template <class F>
const KnownRegex* find(F&& is_wanted) {
  const auto* const found = std::find_if(std::begin(kKnown), std::end(kKnown), is_wanted);
  return found == std::end(kKnown) ? nullptr : found;
}

}  // namespace

const KnownRegex* known_regex(std::string_view regex) {
  return find([&](const KnownRegex& known) { return known.regex == regex; });
}

const KnownRegex* known_regex_of_gguf(std::string_view pre) {
  return find([&](const KnownRegex& known) { return known.gguf == pre; });
}

}  // namespace dikkat
