#include "train/text/hugging_face/known_regex.h"

#include <algorithm>
#include <iterator>

namespace dikkat {
namespace {

constexpr KnownRegex kKnown[] = {
    {.regex = kO200k, .line_breaks = true, .joins_after_break = "/"},
};

}  // namespace

const KnownRegex* known_regex(std::string_view regex) {
  const auto* const found = std::ranges::find(kKnown, regex, &KnownRegex::regex);
  return found == std::end(kKnown) ? nullptr : found;
}

}  // namespace dikkat
