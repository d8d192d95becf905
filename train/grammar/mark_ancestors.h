#pragma once

#include <cstddef>
#include <vector>

namespace dikkat {

/// Marks every state from which a marked one can be reached. before[state] lists the states that have an edge to it.
template <class State>
void mark_ancestors(const std::vector<std::vector<State>>& before, std::vector<bool>& marked) {
  std::vector<State> open;
  for (std::size_t state = 0; state < marked.size(); ++state) {
    if (marked[state]) {
      open.push_back(static_cast<State>(state));
    }
  }
  while (!open.empty()) {
    const State state = open.back();
    open.pop_back();
    for (const State from : before[state]) {
      if (!marked[from]) {
        marked[from] = true;
        open.push_back(from);
      }
    }
  }
}

}  // namespace dikkat
