#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "train/grammar/automaton.h"

namespace dikkat {

/// The deterministic states of an automaton, created when a text first leads to them. Not thread-safe. This header is only for the sources
/// of this project.
///
/// A state is a set of places in the automaton, each with the calls that led to it. Calls of one rule at one byte share a frame, so nested
/// texts need no copies. This is Tomita's graph-structured stack ("Efficient parsing for natural language", 1985).
class Matcher {
 public:
  using State = std::int32_t;
  static constexpr State kDead = -1;

  explicit Matcher(std::shared_ptr<const Automaton> automaton);

  State start() const { return start_; }
  /// Returns the state after one more byte, or kDead.
  State next(State state, std::uint8_t byte) {
    const std::size_t at = static_cast<std::size_t>(state) * classes_ + automaton_->class_of(byte);
    const State known = next_[at];
    return known != kUnknown ? known : step(state, at);
  }
  /// Returns whether a text that leads to this state matches.
  bool accepts(State state) const { return of(state).accepts; }
  /// Returns whether a byte can follow.
  bool continues(State state) const { return of(state).size > 0; }
  /// Returns the number of places.
  index places(State state) const { return of(state).size; }
  index states() const { return std::ssize(infos_); }
  std::size_t memory() const;

  /// Returns the state that equals `state` of another matcher of the same automaton.
  State adopt(const Matcher& other, State state);

 private:
  static constexpr State kUnknown = -2;

  /// A place in the automaton and the frame to return to at the rule's end. Frame 0 is the root's.
  struct Place {
    Automaton::State state;
    std::uint32_t frame;
    auto operator<=>(const Place&) const = default;
  };
  struct Info {
    std::uint32_t size;  // places
    bool accepts;
  };
  /// Lists of places that are stored once each.
  struct Lists {
    std::vector<Place> places;
    std::vector<std::pair<std::size_t, std::uint32_t>> parts;  // begin and size
    std::unordered_multimap<std::uint64_t, std::uint32_t> by_hash;

    std::span<const Place> list(std::uint32_t number) const { return std::span(places).subspan(parts[number].first, parts[number].second); }
    std::uint32_t number_of(std::span<const Place> list);
  };

  const Info& of(State state) const { return infos_[static_cast<std::size_t>(state)]; }
  std::span<const Place> places_of(State state) const { return sets_.list(static_cast<std::uint32_t>(state)).first(of(state).size); }
  State step(State state, std::size_t at);
  /// Returns the state of places in found_, after jumps, calls and ends of rules.
  State close();
  void add(Place place);
  State state_of(std::vector<Place> places, bool accepts);

  std::shared_ptr<const Automaton> automaton_;
  std::size_t classes_;
  std::vector<State> next_;  // (states, classes)
  std::vector<Info> infos_;
  Lists sets_;    // the places of each state; accepting states have one more at the end
  Lists frames_;  // the places to return to
  State start_;

  // Memory of close().
  std::vector<Place> found_;
  std::vector<std::uint64_t> table_;  // open addressing; 0: free
  std::vector<std::uint32_t> stamps_;
  std::uint32_t stamp_ = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pending_;   // rank and rule, as a heap
  std::unordered_map<std::uint32_t, std::vector<Place>> returns_;  // the key is a rule
};

}  // namespace dikkat
