#include "train/chat/template/loop_state.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "autograd/base/error.h"

namespace dikkat::jinja {

std::optional<Value> loop_attribute(const LoopState& loop, std::string_view name) {
  const auto at = static_cast<std::int64_t>(loop.at), size = static_cast<std::int64_t>(loop.values.size());
  const auto neighbor = [&](std::int64_t place, const char* which) {
    return 0 <= place && place < size ? loop.values[static_cast<std::size_t>(place)]
                                      : Value(Undefined{std::make_shared<const std::string>(concat("the ", which, " item of a loop"))});
  };
  if (name == "previtem") {
    return neighbor(at - 1, "previous");
  }
  if (name == "nextitem") {
    return neighbor(at + 1, "next");
  }
  if (name == "first" || name == "last") {
    return Value(name == "first" ? at == 0 : at + 1 == size);
  }
  const std::pair<std::string_view, std::int64_t> numbers[] = {
      {"index0", at},        {"index", at + 1},         {"length", size}, {"revindex", size - at}, {"revindex0", size - at - 1},
      {"depth", loop.depth}, {"depth0", loop.depth - 1}};
  const auto* const found = std::ranges::find(numbers, name, &std::pair<std::string_view, std::int64_t>::first);
  return found == std::end(numbers) ? std::nullopt : std::optional(Value(found->second));
}

}  // namespace dikkat::jinja
