#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "train/grammar/node.h"

namespace dikkat {

/// A grammar without references as an automaton over characters. From each state, some text leads to an end. Immutable. This header is only
/// for the sources of this project.
class CharacterAutomaton {
 public:
  using State = std::uint32_t;

  /// A character that leads to another state.
  struct Edge {
    char32_t first, last;
    State target;
  };

  /// Throws GrammarTooLarge, without a name, for a grammar that needs more than kMostGrammarStates. `steps` counts the work for all
  /// automata of one form, which is limited too.
  CharacterAutomaton(const Grammar::Node& node, std::size_t& steps);

  /// Returns the number of states. With none, no text matches; otherwise texts begin at state 0.
  std::size_t states() const { return ends_.size(); }
  std::span<const Edge> edges(State state) const { return std::span(edges_).subspan(begins_[state], begins_[state + 1] - begins_[state]); }
  bool is_end(State state) const { return ends_[state]; }

 private:
  friend class CharacterAutomatonMaker;
  CharacterAutomaton() = default;

  std::vector<Edge> edges_;
  std::vector<std::size_t> begins_{0};  // where each state's edges begin
  std::vector<bool> ends_;
};

}  // namespace dikkat
