#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "train/grammar/grammar.h"
#include "train/grammar/token_trie.h"

namespace dikkat {

/// A grammar as an automaton over bytes that can call rules, as functions call each other. Immutable. This header is only for the sources
/// of this project.
///
/// From each reachable state, some text leads to the end; other states are removed.
class Automaton {
 public:
  using State = std::uint32_t;

  /// A byte, by its class, that leads to another state.
  struct Edge {
    std::uint16_t first, last;
    State target;
  };
  /// The texts of a rule, which lead to another state.
  struct Call {
    std::uint32_t rule;
    State target;
  };
  struct RuleInfo {
    State start, end;
    bool is_nullable;    // the empty text is one of its texts
    std::uint32_t rank;  // rules that it calls before any byte have a higher rank
  };

  /// Builds the automaton of the texts that consist of the alphabet. Throws GrammarTooLarge, and InputError for a grammar that contains
  /// itself before any byte, or that no text matches. Calls `on_progress` often, if it is not empty, and rethrows its exceptions.
  Automaton(const Grammar& grammar, const Alphabet& alphabet, const std::function<void()>& on_progress = {});

  std::span<const Edge> edges(State state) const { return part(edges_, edges_of_, state); }
  std::span<const Call> calls(State state) const { return part(calls_, calls_of_, state); }
  /// States that are reached without a byte.
  std::span<const State> jumps(State state) const { return part(jumps_, jumps_of_, state); }
  bool is_end(State state) const { return is_end_[state]; }
  const RuleInfo& rule(std::uint32_t number) const { return rules_[number]; }
  const RuleInfo& root() const { return rules_[0]; }
  index states() const { return std::ssize(is_end_); }

  /// Returns the class of a byte: the automaton does not distinguish bytes of one class.
  std::uint16_t class_of(std::uint8_t byte) const { return class_of_[byte]; }
  index classes() const { return classes_; }

 private:
  friend class AutomatonMaker;

  template <class T>
  static std::span<const T> part(const std::vector<T>& all, const std::vector<std::uint32_t>& begins, State state) {
    return std::span(all).subspan(begins[state], begins[state + 1] - begins[state]);
  }

  std::vector<Edge> edges_;
  std::vector<Call> calls_;
  std::vector<State> jumps_;
  std::vector<std::uint32_t> edges_of_, calls_of_, jumps_of_;  // where each state's edges, calls and jumps begin
  std::vector<bool> is_end_;
  std::vector<RuleInfo> rules_;
  std::array<std::uint16_t, 256> class_of_{};
  index classes_ = 0;
};

}  // namespace dikkat
