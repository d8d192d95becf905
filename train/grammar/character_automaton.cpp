#include "train/grammar/character_automaton.h"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "train/grammar/mark_ancestors.h"

namespace dikkat {
namespace {

using Node = Grammar::Node;
using State = CharacterAutomaton::State;
using Edge = CharacterAutomaton::Edge;

constexpr std::size_t kMostCharacterEdges = 1'000'000;
constexpr std::size_t kMostSteps = 20'000'000;
constexpr std::size_t kMostInSets = 4'000'000;  // states in all sets of a complement

/// An automaton that is being built. State 0 is its start.
struct Draft {
  /// Adds its work to `steps`.
  explicit Draft(std::size_t& steps) : steps_(steps) {}

  std::vector<std::vector<Edge>> edges;
  std::vector<std::vector<State>> jumps;  // jumps to states without a character
  std::vector<bool> ends;

  State new_state(bool is_end = false) {
    if (std::ssize(ends) >= kMostGrammarStates) {
      fail_large();
    }
    work(1);
    edges.emplace_back();
    jumps.emplace_back();
    ends.push_back(is_end);
    return static_cast<State>(ends.size() - 1);
  }
  void add_edge(State from, Edge edge) {
    edges[from].push_back(edge);
    count();
  }
  void add_jump(State from, State to) {
    jumps[from].push_back(to);
    count();
  }
  /// Counts steps of work.
  void work(std::size_t steps) {
    steps_ += steps;
    if (steps_ > kMostSteps) {
      throw GrammarTooLarge("",
                            "patterns, formats and lengths that one text must match together take too much work: use fewer of them, "
                            "smaller bounds, or no lookahead");
    }
  }

  [[noreturn]] static void fail_large() {
    throw GrammarTooLarge("", concat("what several rules demand of one text (a pattern beside a length, a format or another pattern) "
                                     "needs more than ",
                                     kMostGrammarStates, " states: use smaller bounds, or fewer of these rules"));
  }

 private:
  void count() {
    work(1);
    if (++size_ > kMostCharacterEdges) {
      fail_large();
    }
  }

  std::size_t size_ = 0;  // number of edges and jumps
  std::size_t& steps_;
};

}  // namespace

/// Builds automata as AutomatonMaker does, and combines them.
class CharacterAutomatonMaker {
 public:
  static CharacterAutomaton make(const Node& node, std::size_t& steps) {
    CharacterAutomatonMaker maker(steps);
    const State end = maker.add(node, maker.draft_.new_state());
    maker.draft_.ends[end] = true;
    return packed(maker.without_jumps(maker.draft_));
  }

 private:
  explicit CharacterAutomatonMaker(std::size_t& steps) : steps_(steps), draft_(steps) {}

  State add(const Node& node, State from) {
    switch (node.kind) {
      case Node::Kind::literal:
        for (index at = 0; at < std::ssize(node.text);) {
          const utf8::Character one = utf8::decode(node.text, at);
          from = add_range({one.code_point, one.code_point}, from, draft_.new_state());
          at += one.bytes;
        }
        return from;
      case Node::Kind::character: {
        const State to = draft_.new_state();
        for (const utf8::Range range : node.ranges) {
          add_range(range, from, to);
        }
        return to;
      }
      case Node::Kind::sequence:
        for (const Grammar& part : node.parts) {
          from = add(part.node(), from);
        }
        return from;
      case Node::Kind::any_of: {
        const State to = draft_.new_state();
        for (const Grammar& part : node.parts) {
          draft_.add_jump(add(part.node(), from), to);
        }
        return to;
      }
      case Node::Kind::all_of: {
        CharacterAutomaton common = make(node.parts.at(0).node(), steps_);
        for (std::size_t i = 1; i < node.parts.size(); ++i) {
          common = product(common, make(node.parts[i].node(), steps_));
        }
        return add_copy(common, from);
      }
      case Node::Kind::all_but: return add_copy(complement(make(node.parts[0].node(), steps_)), from);
      case Node::Kind::repeat: return add_repeat(node, from);
      case Node::Kind::named: return add(node.parts[0].node(), from);
      case Node::Kind::rules:
        if (node.rules.empty()) {
          return add(node.parts[0].node(), from);
        }
        break;
      default: break;
    }
    fail("grammar: all_of has a part of a kind that it cannot have");
  }

  State add_range(utf8::Range range, State from, State to) {
    draft_.add_edge(from, {range.first, range.last, to});
    return to;
  }

  State add_repeat(const Node& node, State from) {
    const Node& part = node.parts[0].node();
    for (index i = 0; i < node.least; ++i) {
      from = add(part, from);
    }
    if (node.most < 0) {
      const State loop = draft_.new_state(), to = draft_.new_state();
      draft_.add_jump(from, loop);
      draft_.add_jump(add(part, loop), loop);
      draft_.add_jump(loop, to);
      return to;
    }
    const State to = draft_.new_state();
    for (index i = node.least; i < node.most; ++i) {
      draft_.add_jump(from, to);
      from = add(part, from);
    }
    draft_.add_jump(from, to);
    return to;
  }

  State add_copy(const CharacterAutomaton& texts, State from) {
    const State to = draft_.new_state();
    const auto offset = static_cast<State>(draft_.ends.size());
    for (std::size_t i = 0; i < texts.states(); ++i) {
      draft_.new_state();
    }
    for (State state = 0; state < texts.states(); ++state) {
      for (const Edge& edge : texts.edges(state)) {
        draft_.add_edge(offset + state, {edge.first, edge.last, offset + edge.target});
      }
      if (texts.is_end(state)) {
        draft_.add_jump(offset + state, to);
      }
    }
    if (texts.states() > 0) {
      draft_.add_jump(from, offset);
    }
    return to;
  }

  /// Returns the same texts without jumps: a state has the edges of all states that it jumps to.
  Draft without_jumps(const Draft& draft) const {
    Draft made(steps_);
    std::vector<State> copy_of(draft.ends.size(), 0), origins{0};  // 1 + the index of each state's copy; 0: none
    copy_of[0] = made.new_state() + 1;
    std::vector<State> seen(draft.ends.size(), 0), open;  // 1 + the index of the copy that saw a state last
    for (State copy = 0; copy < origins.size(); ++copy) {
      open.assign(1, origins[copy]);
      seen[origins[copy]] = copy + 1;
      while (!open.empty()) {
        const State state = open.back();
        open.pop_back();
        made.ends[copy] = made.ends[copy] || draft.ends[state];
        for (const Edge& edge : draft.edges[state]) {
          if (copy_of[edge.target] == 0) {
            copy_of[edge.target] = made.new_state() + 1;
            origins.push_back(edge.target);
          }
          made.add_edge(copy, {edge.first, edge.last, copy_of[edge.target] - 1});
        }
        for (const State to : draft.jumps[state]) {
          if (seen[to] != copy + 1) {
            seen[to] = copy + 1;
            open.push_back(to);
          }
        }
      }
    }
    return made;
  }

  /// Returns the automaton without states from which no text leads to an end.
  static CharacterAutomaton packed(const Draft& draft) {
    // Search backward from the ends.
    std::vector<std::vector<State>> before(draft.ends.size());
    std::vector<bool> leads(draft.ends);
    for (State state = 0; state < draft.ends.size(); ++state) {
      for (const Edge& edge : draft.edges[state]) {
        before[edge.target].push_back(state);
      }
    }
    mark_ancestors(before, leads);

    // Keep the remaining states, in their order. The start is the first.
    CharacterAutomaton made;
    if (!leads[0]) {
      return made;
    }
    std::vector<State> number(draft.ends.size(), 0);
    State next = 0;
    for (State state = 0; state < draft.ends.size(); ++state) {
      number[state] = leads[state] ? next++ : 0;
    }
    for (State state = 0; state < draft.ends.size(); ++state) {
      if (leads[state]) {
        for (const Edge& edge : draft.edges[state]) {
          if (leads[edge.target]) {
            made.edges_.push_back({edge.first, edge.last, number[edge.target]});
          }
        }
        made.begins_.push_back(made.edges_.size());
        made.ends_.push_back(draft.ends[state]);
      }
    }
    return made;
  }

  /// Returns an automaton of the texts that both have.
  CharacterAutomaton product(const CharacterAutomaton& a, const CharacterAutomaton& b) const {
    Draft made(steps_);
    std::unordered_map<std::uint64_t, State> numbers;
    std::vector<std::pair<State, State>> pairs;
    const auto number_of = [&](State of_a, State of_b) {
      const auto [found, is_new] = numbers.try_emplace((std::uint64_t{of_a} << 32) | of_b, 0);
      if (is_new) {
        found->second = made.new_state(a.is_end(of_a) && b.is_end(of_b));
        pairs.emplace_back(of_a, of_b);
      }
      return found->second;
    };
    if (a.states() == 0 || b.states() == 0) {
      return {};
    }
    number_of(0, 0);
    for (State at = 0; at < pairs.size(); ++at) {
      const auto [of_a, of_b] = pairs[at];
      made.work(1 + a.edges(of_a).size() * b.edges(of_b).size());
      for (const Edge& one : a.edges(of_a)) {
        for (const Edge& other : b.edges(of_b)) {
          const char32_t first = std::max(one.first, other.first), last = std::min(one.last, other.last);
          if (first <= last) {
            made.add_edge(at, {first, last, number_of(one.target, other.target)});
          }
        }
      }
    }
    return packed(made);
  }

  /// Returns an automaton of all other texts, by the subset construction: its states are sets of states that texts lead to.
  CharacterAutomaton complement(const CharacterAutomaton& texts) const {
    Draft made(steps_);
    std::map<std::vector<State>, State> numbers;
    std::vector<const std::vector<State>*> sets;
    std::size_t in_sets = 0;
    // Number each set of states. It is an end unless it contains one.
    const auto number_of = [&](std::vector<State> set) {
      std::ranges::sort(set);
      set.erase(std::unique(set.begin(), set.end()), set.end());
      in_sets += set.size();
      made.work(set.size());
      if (in_sets > kMostInSets) {
        Draft::fail_large();
      }
      const auto [found, is_new] = numbers.try_emplace(std::move(set), 0);
      if (is_new) {
        found->second = made.new_state(std::ranges::none_of(found->first, [&](State state) { return texts.is_end(state); }));
        sets.push_back(&found->first);
      }
      return found->second;
    };
    // Follow the characters from each set, starting at the start's.
    number_of(texts.states() > 0 ? std::vector<State>{0} : std::vector<State>{});
    for (State at = 0; at < sets.size(); ++at) {
      // Find the characters at which the next set changes.
      std::vector<char32_t> begins{0};
      std::size_t size = 0;
      for (const State state : *sets[at]) {
        size += texts.edges(state).size();
        for (const Edge& edge : texts.edges(state)) {
          begins.push_back(edge.first);
          begins.push_back(edge.last + 1);
        }
      }
      std::ranges::sort(begins);
      begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
      while (begins.back() > utf8::kLastCodePoint) {
        begins.pop_back();
      }
      made.work(1 + begins.size() * size);
      // Add an edge to the next set, or extend the last edge.
      for (std::size_t i = 0; i < begins.size(); ++i) {
        const char32_t last = i + 1 < begins.size() ? begins[i + 1] - 1 : utf8::kLastCodePoint;
        std::vector<State> next;
        for (const State state : *sets[at]) {
          for (const Edge& edge : texts.edges(state)) {
            if (edge.first <= begins[i] && last <= edge.last) {
              next.push_back(edge.target);
            }
          }
        }
        const State to = number_of(std::move(next));
        if (!made.edges[at].empty() && made.edges[at].back().target == to) {
          made.edges[at].back().last = last;
        } else {
          made.add_edge(at, {begins[i], last, to});
        }
      }
    }
    return packed(made);
  }

  std::size_t& steps_;
  Draft draft_;
};

CharacterAutomaton::CharacterAutomaton(const Grammar::Node& node, std::size_t& steps)
    : CharacterAutomaton(CharacterAutomatonMaker::make(node, steps)) {}

}  // namespace dikkat
