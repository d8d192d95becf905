#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "train/chat/template/value.h"

namespace dikkat::jinja {

class Rendering;
struct ForStatement;
struct Scope;

/// The state of a {% for %} loop, which its body knows as `loop`.
struct LoopState {
  std::vector<Value> values{};
  std::size_t at = 0;                           // the index of the current value
  int depth = 1;                                // the depth of recursive loops
  const ForStatement* recursive = nullptr;      // a loop that may be called; nullptr: it may not, or it is over
  Scope* outer = nullptr;                       // the scope around the loop
  std::optional<std::vector<Value>> changed{};  // the arguments of the last call of loop.changed()
  bool is_over = false;
};

/// Returns an attribute of a loop, such as loop.index; nullopt if loops have none of this name.
std::optional<Value> loop_attribute(const LoopState& loop, std::string_view name);

}  // namespace dikkat::jinja
