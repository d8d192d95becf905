#include "train/grammar/automaton.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "train/grammar/character_automaton.h"
#include "train/grammar/mark_ancestors.h"
#include "train/grammar/node.h"

namespace dikkat {
namespace {

using State = Automaton::State;
using Node = Grammar::Node;

constexpr auto kMostStates = static_cast<std::size_t>(kMostGrammarStates);
constexpr std::size_t kMostEdges = 1'000'000;
constexpr std::size_t kStatesOfProgress = 1024;  // between two calls of on_progress
constexpr index kMostUnrolled = 2000;            // states of repetitions whose parts are added one after another
constexpr index kManyStates = 1'000'000'000;     // the largest estimate
constexpr State kNowhere = std::numeric_limits<State>::max();

struct ByteRange8 {
  std::uint8_t first, last;
  auto operator<=>(const ByteRange8&) const = default;
};
using ByteSequence = std::vector<ByteRange8>;

std::string bytes_of(char32_t character) {
  std::string bytes;
  utf8::append(bytes, character);
  return bytes;
}

/// Appends the sequences of byte ranges that are the UTF-8 of a range of characters without surrogates.
void append_sequences(char32_t first, char32_t last, std::vector<ByteSequence>& out) {
  // Divide the range into characters of equally many bytes.
  for (const char32_t longest : {char32_t{0x7F}, char32_t{0x7FF}, char32_t{0xFFFF}}) {
    if (first <= longest && longest < last) {
      append_sequences(first, longest, out);
      append_sequences(longest + 1, last, out);
      return;
    }
  }
  // Divide it so that the last bytes take all their values, whatever the first bytes are.
  const std::size_t size = bytes_of(first).size();
  for (std::size_t tail = 1; tail < size; ++tail) {
    const char32_t all = (char32_t{1} << (6 * tail)) - 1;
    if ((first & ~all) == (last & ~all)) {
      break;
    }
    if ((first & all) != 0) {
      append_sequences(first, first | all, out);
      append_sequences((first | all) + 1, last, out);
      return;
    }
    if ((last & all) != all) {
      append_sequences(first, (last & ~all) - 1, out);
      append_sequences(last & ~all, last, out);
      return;
    }
  }
  const std::string low = bytes_of(first), high = bytes_of(last);
  ByteSequence one;
  for (std::size_t i = 0; i < size; ++i) {
    one.push_back({static_cast<std::uint8_t>(low[i]), static_cast<std::uint8_t>(high[i])});
  }
  out.push_back(std::move(one));
}

std::vector<char32_t> characters_of(std::string_view text) {
  std::vector<char32_t> characters;
  for (index at = 0; at < std::ssize(text);) {
    const utf8::Character one = utf8::decode(text, at);
    characters.push_back(one.code_point);
    at += one.bytes;
  }
  return characters;
}

std::vector<utf8::Range> common(const std::vector<utf8::Range>& a, const std::vector<utf8::Range>& b) {
  std::vector<utf8::Range> both;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const char32_t first = std::max(a[i].first, b[j].first);
    const char32_t last = std::min(a[i].last, b[j].last);
    if (first <= last) {
      both.push_back({first, last});
    }
    ++(a[i].last < b[j].last ? i : j);
  }
  return both;
}

}  // namespace

/// Builds an automaton as Thompson did ("Regular expression search algorithm", 1968): each part leads from a given state to one that it
/// returns. No part adds an edge to the state where it begins.
class AutomatonMaker {
 public:
  AutomatonMaker(Automaton& made, const Alphabet& alphabet, const std::function<void()>& on_progress)
      : made_(made), bytes_(alphabet.bytes), is_restricted_(!alphabet.characters.empty()), on_progress_(on_progress) {
    for (const char32_t character : alphabet.characters) {
      alphabet_.push_back({character, character});
    }
    alphabet_ = normal_ranges(std::move(alphabet_));
  }

  void make(const Grammar& grammar) {
    const std::uint32_t root = new_rule("the grammar");
    add_rule(root, grammar.node());
    while (!waiting_.empty()) {
      const WaitingRule next = std::move(waiting_.back());
      waiting_.pop_back();
      for (const std::string* const name : next.names) {
        open_names_.push_back({name, states_});
      }
      add_rule(next.rule, *next.node);
      while (!open_names_.empty()) {
        end_name();
      }
    }
    remove_dead_ends();
    find_nullable();
    rank();
    pack();
  }

 private:
  struct Edge {
    State from, to;
    std::uint8_t first, last;
  };
  struct Call {
    State from, to;
    std::uint32_t rule;
  };
  struct Jump {
    State from, to;
  };
  struct RulePart {
    std::string name;
    State start, end;
    bool is_productive = false, is_nullable = false;
    std::uint32_t rank = 0;
  };

  /// A rule that has not been built.
  struct WaitingRule {
    std::uint32_t rule;
    const Node* node;
    std::vector<const std::string*> names;  // names of the parts that used it first, which its states belong to
  };
  struct NamedPart {
    const std::string* name;
    std::size_t begin;  // number of states before it
  };

  State new_state() {
    if (states_ >= kMostStates || edges_.size() + jumps_.size() + calls_.size() >= kMostEdges) {
      fail_large();
    }
    if (on_progress_ && states_ % kStatesOfProgress == 0) {
      on_progress_();
    }
    return static_cast<State>(states_++);
  }

  /// Throws GrammarTooLarge, with the smallest part that needs half of the states or more, or else the part that needs most.
  [[noreturn]] void fail_large() {
    while (!open_names_.empty()) {
      end_name();
    }
    const std::pair<const std::string, std::size_t>* largest = nullptr;
    for (const auto& one : states_of_names_) {
      const bool is_most = one.second >= states_ / 2;
      const bool was_most = largest != nullptr && largest->second >= states_ / 2;
      if (largest == nullptr || (is_most && was_most ? one.second <= largest->second : one.second > largest->second)) {
        largest = &one;
      }
    }
    throw GrammarTooLarge(largest == nullptr ? "" : largest->first,
                          concat("the grammar is too large: it needs more than ", kMostStates, " states",
                                 largest == nullptr ? "" : concat(", ", largest->second, " of them for ", largest->first),
                                 "; shorten it, or leave parts out"));
  }

  State add_named(const Node& node, State from) {
    open_names_.push_back({&node.text, states_});
    const State to = add(node.parts[0].node(), from);
    end_name();
    return to;
  }
  void end_name() {
    states_of_names_[*open_names_.back().name] += states_ - open_names_.back().begin;
    open_names_.pop_back();
  }

  /// Adds edges for the bytes of a range that the vocabulary has.
  void add_edge(State from, State to, std::uint8_t first, std::uint8_t last) {
    for (int byte = first; byte <= last; ++byte) {
      int end = byte;
      while (end <= last && bytes_[static_cast<std::size_t>(end)]) {
        ++end;
      }
      if (end > byte) {
        edges_.push_back({from, to, static_cast<std::uint8_t>(byte), static_cast<std::uint8_t>(end - 1)});
        byte = end;
      }
    }
  }

  std::uint32_t new_rule(std::string name) {
    rules_.push_back({.name = std::move(name), .start = new_state(), .end = new_state()});
    return static_cast<std::uint32_t>(rules_.size() - 1);
  }

  void add_rule(std::uint32_t rule, const Node& node) {
    const State start = rules_[rule].start;
    const State end = add(node, start);
    jumps_.push_back({end, rules_[rule].end});
  }

  State add_call(State from, std::uint32_t rule) {
    const State to = new_state();
    calls_.push_back({from, to, rule});
    return to;
  }

  State add(const Node& node, State from) {
    switch (node.kind) {
      case Node::Kind::literal: return spelling_ == nullptr ? add_text(node.text, from) : add_spelled_text(node.text, from);
      case Node::Kind::character: {
        const State to = new_state();
        add_characters_as_spelled(node.ranges, from, to);
        return to;
      }
      case Node::Kind::sequence:
        for (const Grammar& part : node.parts) {
          from = add(part.node(), from);
        }
        return from;
      case Node::Kind::any_of: return add_any_of(node, from);
      case Node::Kind::all_of: return add_all_of(node, from);
      case Node::Kind::all_but: break;
      case Node::Kind::repeat: return add_repeat(node, from);
      case Node::Kind::separated: return add_separated(node, from);
      case Node::Kind::without: return add_without(characters_of(node.text), from);
      case Node::Kind::reference: {
        const auto rule = rule_of_.find(node.rules[0].id());
        require(rule != rule_of_.end(), "grammar: the rule ", node.rules[0].name(), " is not defined");
        return add_call(from, rule->second);
      }
      case Node::Kind::rules:
        return spelling_ != nullptr && node.rules.empty() ? add(node.parts[0].node(), from) : add_call(from, rule_of(node));
      case Node::Kind::spelled: {
        const Spelling around = std::exchange(spelling_, node.spelling);
        const State to = add(node.parts[0].node(), from);
        spelling_ = around;
        return to;
      }
      case Node::Kind::named: return add_named(node, from);
    }
    fail("grammar: a part of an unknown kind");
  }

  /// Returns the rule of a part with rules of its own. It is built once, however often it is used.
  std::uint32_t rule_of(const Node& node) {
    const auto [found, is_new] = shared_.try_emplace(&node, 0);
    if (is_new) {
      for (std::size_t i = 0; i < node.rules.size(); ++i) {
        const std::uint32_t rule = new_rule(node.rules[i].name());
        rule_of_[node.rules[i].id()] = rule;
        wait(rule, node.parts[i].node());
      }
      const std::uint32_t start = new_rule(node.rules.empty() ? "a part" : node.rules[0].name());
      shared_[&node] = start;
      wait(start, node.parts.back().node());
      return start;
    }
    return found->second;
  }

  void wait(std::uint32_t rule, const Node& node) {
    WaitingRule waiting{rule, &node, {}};
    for (const NamedPart& one : open_names_) {
      waiting.names.push_back(one.name);
    }
    waiting_.push_back(std::move(waiting));
  }

  bool is_written(char32_t character) const {
    return !is_restricted_ ||
           std::ranges::any_of(alphabet_, [&](utf8::Range range) { return range.first <= character && character <= range.last; });
  }

  bool is_written(std::string_view text) const {
    return !is_restricted_ || std::ranges::all_of(characters_of(text), [&](char32_t one) { return is_written(one); });
  }

  State add_text(std::string_view text, State from) {
    if (!is_written(text)) {
      return new_state();  // nothing leads there
    }
    for (const char c : text) {
      const State to = new_state();
      const auto byte = static_cast<std::uint8_t>(c);
      add_edge(from, to, byte, byte);
      from = to;
    }
    return from;
  }

  State add_any_of(const Node& node, State from) {
    const State to = new_state();
    std::map<std::pair<State, char>, State> next;  // literals that begin with the same bytes share states
    for (const Grammar& part : node.parts) {
      const Node& one = part.node();
      if (one.kind != Node::Kind::literal || spelling_ != nullptr || !is_written(one.text)) {
        jumps_.push_back({add(one, from), to});
        continue;
      }
      State at = from;
      for (const char c : one.text) {
        const auto [found, is_new] = next.try_emplace({at, c}, 0);
        if (is_new) {
          found->second = add_text(std::string_view(&c, 1), at);
        }
        at = found->second;
      }
      jumps_.push_back({at, to});
    }
    return to;
  }

  State add_all_of(const Node& node, State from) {
    try {
      return add_automaton(CharacterAutomaton(node, steps_), from);
    } catch (const GrammarTooLarge& error) {
      throw error.name().empty() && !open_names_.empty() ? GrammarTooLarge(*open_names_.back().name, error.what()) : error;
    }
  }

  State add_automaton(const CharacterAutomaton& texts, State from) {
    std::vector<State> copy_of(texts.states());
    for (State& state : copy_of) {
      state = new_state();
    }
    const State to = new_state();
    for (CharacterAutomaton::State state = 0; state < texts.states(); ++state) {
      std::map<State, std::vector<utf8::Range>> ranges;  // the keys are the targets
      for (const CharacterAutomaton::Edge& edge : texts.edges(state)) {
        ranges[copy_of[edge.target]].push_back({edge.first, edge.last});
      }
      for (auto& [target, some] : ranges) {
        add_characters_as_spelled(normal_ranges(std::move(some)), copy_of[state], target);
      }
      if (texts.is_end(state)) {
        jumps_.push_back({copy_of[state], to});
      }
    }
    if (!copy_of.empty()) {
      jumps_.push_back({from, copy_of[0]});
    }
    return to;
  }

  State add_spelled_text(std::string_view text, State from) {
    for (const char32_t one : characters_of(text)) {
      const State to = new_state();
      add_characters_as_spelled({{one, one}}, from, to);
      from = to;
    }
    return from;
  }

  void add_characters_as_spelled(const std::vector<utf8::Range>& ranges, State from, State to) {
    if (spelling_ == nullptr) {
      add_characters(ranges, from, to);
      return;
    }
    // Make one grammar for equal ranges, so that its shared() parts are added once.
    const auto [text, is_new] = spelled_.try_emplace({number_of(spelling_), key_of(ranges)}, std::nullopt);
    if (is_new) {
      text->second = spelling_(ranges);
    }
    const Spelling around = std::exchange(spelling_, nullptr);
    connect(text->second->node(), from, to);
    spelling_ = around;
  }

  /// Adds a grammar between two states, without other states if possible.
  void connect(const Node& node, State from, State to) {
    switch (node.kind) {
      case Node::Kind::character: add_characters(node.ranges, from, to); return;
      case Node::Kind::rules: calls_.push_back({from, to, rule_of(node)}); return;
      case Node::Kind::any_of:
        for (const Grammar& part : node.parts) {
          connect(part.node(), from, to);
        }
        return;
      default: jumps_.push_back({add(node, from), to}); return;
    }
  }

  static std::uintptr_t number_of(Spelling spelling) { return reinterpret_cast<std::uintptr_t>(spelling); }

  static std::vector<std::pair<char32_t, char32_t>> key_of(const std::vector<utf8::Range>& ranges) {
    std::vector<std::pair<char32_t, char32_t>> key;
    for (const utf8::Range range : ranges) {
      key.emplace_back(range.first, range.last);
    }
    return key;
  }

  /// Adds edges for ASCII, and one call for other characters, so that texts of ASCII call nothing.
  void add_characters(const std::vector<utf8::Range>& ranges, State from, State to) {
    const std::vector<utf8::Range> written = is_restricted_ ? common(ranges, alphabet_) : ranges;
    std::vector<utf8::Range> others;
    for (const utf8::Range range : written) {
      if (range.first < 0x80) {
        add_edge(from, to, static_cast<std::uint8_t>(range.first), static_cast<std::uint8_t>(std::min(range.last, char32_t{0x7F})));
      }
      if (range.last >= 0x80) {
        others.push_back({std::max(range.first, char32_t{0x80}), range.last});
      }
    }
    if (!others.empty()) {
      calls_.push_back({from, to, rule_of(others)});
    }
  }

  /// Returns the rule of characters that are not ASCII.
  std::uint32_t rule_of(const std::vector<utf8::Range>& ranges) {
    const auto [found, is_new] = characters_.try_emplace(key_of(ranges), 0);
    if (!is_new) {
      return found->second;
    }
    const std::uint32_t rule = found->second = new_rule("a character");
    std::vector<ByteSequence> sequences;
    for (const utf8::Range range : ranges) {
      append_sequences(range.first, range.last, sequences);
    }
    // Sequences with equal ends share the states of these ends.
    std::map<ByteSequence, State> tails{{{}, rules_[rule].end}};
    for (const ByteSequence& sequence : sequences) {
      State to = rules_[rule].end;
      for (std::size_t i = sequence.size(); i-- > 1;) {
        const auto [tail, is_other] = tails.try_emplace(ByteSequence(sequence.begin() + static_cast<std::ptrdiff_t>(i), sequence.end()), 0);
        if (is_other) {
          tail->second = new_state();
          add_edge(tail->second, to, sequence[i].first, sequence[i].last);
        }
        to = tail->second;
      }
      add_edge(rules_[rule].start, to, sequence[0].first, sequence[0].last);
    }
    return rule;
  }

  State add_repeat(const Node& node, State from) {
    const Node& part = node.parts[0].node();
    from = add_exactly(part, node.least, from);
    if (node.most < 0) {
      const State loop = new_state();
      jumps_.push_back({from, loop});
      jumps_.push_back({add(part, loop), loop});
      const State to = new_state();
      jumps_.push_back({loop, to});
      return to;
    }
    return add_up_to(part, node.most - node.least, from);
  }

  /// Adds `count` texts of a part.
  State add_exactly(const Node& part, index count, State from) {
    if (is_unrolled(part, count)) {
      for (index i = 0; i < count; ++i) {
        from = add(part, from);
      }
      return from;
    }
    return add_call(add_call(from, rule_of_copies(part, count / 2, true)), rule_of_copies(part, count - count / 2, true));
  }

  /// Adds 0 to `count` texts of a part.
  State add_up_to(const Node& part, index count, State from) {
    const State to = new_state();
    if (is_unrolled(part, count)) {
      for (index i = 0; i < count; ++i) {
        jumps_.push_back({from, to});
        from = add(part, from);
      }
      jumps_.push_back({from, to});
      return to;
    }
    // Add up to half of the copies; or half of them, one more, and up to the remaining ones.
    const index half = count / 2;
    jumps_.push_back({add_call(from, rule_of_copies(part, half, false)), to});
    const State more = add_call(from, rule_of_copies(part, half + 1, true));
    jumps_.push_back({add_call(more, rule_of_copies(part, count - half - 1, false)), to});
    return to;
  }

  bool is_unrolled(const Node& part, index count) { return count <= 1 || count * estimate(part) <= kMostUnrolled; }

  /// Returns the rule of `count` texts of a part, or of up to `count`. Halves of halves are few different counts, so few rules are needed.
  std::uint32_t rule_of_copies(const Node& part, index count, bool is_exact) {
    const auto [found, is_new] = copies_.try_emplace({&part, number_of(spelling_), count, is_exact}, 0);
    if (is_new) {
      const std::uint32_t rule = found->second = new_rule("a repetition");
      const State start = rules_[rule].start;
      jumps_.push_back({is_exact ? add_exactly(part, count, start) : add_up_to(part, count, start), rules_[rule].end});
      return rule;
    }
    return found->second;
  }

  /// Returns roughly how many states a part needs.
  index estimate(const Node& node) {
    const auto known = estimates_.find(&node);
    if (known != estimates_.end()) {
      return known->second;
    }
    index states = 1;
    if (node.kind == Node::Kind::literal || node.kind == Node::Kind::without) {
      states = std::ssize(node.text);
    } else if (node.kind == Node::Kind::repeat) {
      const index one = estimate(node.parts[0].node());
      states = std::min(one * std::max<index>({node.least, node.most, 1}), std::max(one, 8 * kMostUnrolled));
    } else if (node.kind != Node::Kind::rules) {
      for (const Grammar& part : node.parts) {
        states += estimate(part.node());
      }
    }
    return estimates_[&node] = std::clamp<index>(states, 1, kManyStates);
  }

  State add_separated(const Node& node, State from) {
    // `none`: no part has been written so far; `some`: one has. Either may be impossible.
    State none = from, some = kNowhere;
    const Node& separator = node.parts.back().node();
    for (std::size_t i = 0; i + 1 < node.parts.size(); ++i) {
      const State begin = new_state();
      if (none != kNowhere) {
        jumps_.push_back({none, begin});
      }
      if (some != kNowhere) {
        jumps_.push_back({add(separator, some), begin});
      }
      const State written = new_state();
      jumps_.push_back({add(node.parts[i].node(), begin), written});
      if (!node.optional_parts[i]) {
        none = kNowhere;
      } else if (some != kNowhere) {
        jumps_.push_back({some, written});
      }
      some = written;
    }
    const State to = new_state();
    none = node.least == 0 ? none : kNowhere;
    for (const State last : {none, some}) {
      if (last != kNowhere) {
        jumps_.push_back({last, to});
      }
    }
    return to;
  }

  /// Adds texts without a marker, by the automaton of Knuth, Morris and Pratt ("Fast pattern matching in strings", 1977).
  State add_without(const std::vector<char32_t>& marker, State from) {
    std::vector<State> begun(marker.size());  // indexed by how many of the marker's characters were just written
    for (State& state : begun) {
      state = new_state();
    }
    jumps_.push_back({from, begun[0]});
    // Divide the characters into those of the marker and others.
    std::vector<utf8::Range> known;
    for (const char32_t one : marker) {
      known.push_back({one, one});
    }
    known = normal_ranges(std::move(known));
    const std::vector<utf8::Range> others = other_characters(known);
    // Add edges to the state after each character; a mismatch falls back to the border.
    std::vector<std::map<char32_t, std::size_t>> next(marker.size());
    std::size_t border = 0;  // the state after the marker's characters without the first
    for (std::size_t i = 0; i < marker.size(); ++i) {
      if (i > 0) {
        next[i] = next[border];
        const auto found = next[border].find(marker[i]);
        next[i][marker[i]] = i + 1;
        border = found == next[border].end() ? 0 : found->second;
      } else {
        next[0][marker[0]] = 1;
      }
      for (const utf8::Range range : known) {
        for (char32_t one = range.first; one <= range.last; ++one) {
          const auto found = next[i].find(one);
          const std::size_t target = found == next[i].end() ? 0 : found->second;
          if (target < marker.size()) {
            add_characters({{one, one}}, begun[i], begun[target]);
          }
        }
      }
      add_characters(others, begun[i], begun[0]);
    }
    // A text may end after any part of the marker.
    const State to = new_state();
    for (const State state : begun) {
      jumps_.push_back({state, to});
    }
    return to;
  }

  /// Removes states from which no text leads to the end of their rule.
  void remove_dead_ends() {
    mark_reached(true);
    require_input(rules_[0].is_productive, "no text matches the grammar",
                  is_restricted_ ? " that consists of the model's vocabulary: it may lack a character that is needed" : "",
                  ", expected one that can be written to its end");
    // Search backward from the ends of rules.
    std::vector<std::vector<State>> before(states_);
    for (const Edge& one : edges_) {
      before[one.to].push_back(one.from);
    }
    for (const Jump& one : jumps_) {
      before[one.to].push_back(one.from);
    }
    for (const Call& one : calls_) {
      if (rules_[one.rule].is_productive) {
        before[one.to].push_back(one.from);
      }
    }
    std::vector<bool> leads(states_, false);
    for (const RulePart& rule : rules_) {
      leads[rule.end] = true;
    }
    mark_ancestors(before, leads);
    std::erase_if(edges_, [&](const Edge& one) { return !leads[one.to]; });
    std::erase_if(jumps_, [&](const Jump& one) { return !leads[one.to]; });
    std::erase_if(calls_, [&](const Call& one) { return !leads[one.to] || !rules_[one.rule].is_productive; });
  }

  void find_nullable() { mark_reached(false); }

  /// Finds the rules whose end can be reached, with any bytes or only without bytes.
  void mark_reached(bool with_bytes) {
    // Index the edges, jumps and calls by their first states.
    std::vector<std::vector<State>> after(states_);
    if (with_bytes) {
      for (const Edge& one : edges_) {
        after[one.from].push_back(one.to);
      }
    }
    for (const Jump& one : jumps_) {
      after[one.from].push_back(one.to);
    }
    std::vector<std::vector<std::pair<std::uint32_t, State>>> called(states_);
    for (const Call& one : calls_) {
      called[one.from].emplace_back(one.rule, one.to);
    }
    // Begin at the start of every rule.
    std::vector<bool> reached(states_, false), ended(rules_.size(), false);
    std::vector<std::vector<State>> waiting(rules_.size());  // states after a call of a rule whose end has not been reached
    std::unordered_map<State, std::uint32_t> rule_that_ends;
    std::vector<State> open;
    const auto reach = [&](State state) {
      if (!reached[state]) {
        reached[state] = true;
        open.push_back(state);
      }
    };
    for (std::uint32_t rule = 0; rule < rules_.size(); ++rule) {
      rule_that_ends[rules_[rule].end] = rule;
      reach(rules_[rule].start);
    }
    // A call leads on only when the end of its rule has been reached.
    while (!open.empty()) {
      const State state = open.back();
      open.pop_back();
      for (const State to : after[state]) {
        reach(to);
      }
      for (const auto& [rule, to] : called[state]) {
        if (ended[rule]) {
          reach(to);
        } else {
          waiting[rule].push_back(to);
        }
      }
      if (const auto rule = rule_that_ends.find(state); rule != rule_that_ends.end()) {
        ended[rule->second] = true;
        for (const State to : std::exchange(waiting[rule->second], {})) {
          reach(to);
        }
      }
    }
    for (std::uint32_t rule = 0; rule < rules_.size(); ++rule) {
      (with_bytes ? rules_[rule].is_productive : rules_[rule].is_nullable) = ended[rule];
    }
  }

  /// Orders the rules: one that calls another before any byte comes first.
  void rank() {
    // Index the steps that read no byte by their first states.
    std::vector<std::vector<State>> after(states_);
    for (const Jump& one : jumps_) {
      after[one.from].push_back(one.to);
    }
    std::vector<std::vector<std::uint32_t>> called(states_);
    for (const Call& one : calls_) {
      called[one.from].push_back(one.rule);
      if (rules_[one.rule].is_nullable) {
        after[one.from].push_back(one.to);
      }
    }
    // Find the rules that each rule calls before any byte.
    std::vector<std::vector<std::uint32_t>> calls(rules_.size());
    std::vector<std::uint32_t> callers(rules_.size(), 0);
    std::vector<std::uint32_t> seen(states_, 0);  // 1 + the index of the rule that saw a state last
    for (std::uint32_t rule = 0; rule < rules_.size(); ++rule) {
      std::vector<State> open{rules_[rule].start};
      seen[open[0]] = rule + 1;
      while (!open.empty()) {
        const State state = open.back();
        open.pop_back();
        for (const std::uint32_t other : called[state]) {
          calls[rule].push_back(other);
          ++callers[other];
        }
        for (const State to : after[state]) {
          if (seen[to] != rule + 1) {
            seen[to] = rule + 1;
            open.push_back(to);
          }
        }
      }
    }
    // Sort topologically (Kahn). Rules on a cycle remain.
    std::vector<std::uint32_t> open;
    for (std::uint32_t rule = 0; rule < rules_.size(); ++rule) {
      if (callers[rule] == 0) {
        open.push_back(rule);
      }
    }
    std::uint32_t ranked = 0;
    for (; !open.empty(); ++ranked) {
      const std::uint32_t rule = open.back();
      open.pop_back();
      rules_[rule].rank = ranked;
      for (const std::uint32_t other : calls[rule]) {
        if (--callers[other] == 0) {
          open.push_back(other);
        }
      }
    }
    // Refuse a grammar that contains itself before any byte.
    if (ranked < rules_.size()) {
      for (std::uint32_t rule = 0; rule < rules_.size(); ++rule) {
        require_input(callers[rule] == 0, rules_[rule].name,
                      " contains itself before any text of its own, expected a character or more before it");
      }
    }
  }

  void pack() {
    // Group bytes that no edge distinguishes into classes.
    std::array<bool, 257> begins{};
    for (const Edge& one : edges_) {
      begins[one.first] = true;
      begins[std::size_t{one.last} + 1] = true;
    }
    std::uint16_t last = 0;
    for (std::size_t byte = 0; byte < 256; ++byte) {
      last = static_cast<std::uint16_t>(last + (byte > 0 && begins[byte] ? 1 : 0));
      made_.class_of_[byte] = last;
    }
    made_.classes_ = last + 1;

    // Store the edges, calls and jumps of each state, one state after another.
    const auto sort = [&](auto& from_states, std::vector<std::uint32_t>& begins_of, auto&& put) {
      std::ranges::stable_sort(from_states, {}, [](const auto& one) { return one.from; });
      begins_of.assign(states_ + 1, 0);
      for (const auto& one : from_states) {
        ++begins_of[one.from + 1];
        put(one);
      }
      for (std::size_t i = 0; i < states_; ++i) {
        begins_of[i + 1] += begins_of[i];
      }
    };
    sort(edges_, made_.edges_of_,
         [&](const Edge& one) { made_.edges_.push_back({made_.class_of_[one.first], made_.class_of_[one.last], one.to}); });
    sort(calls_, made_.calls_of_, [&](const Call& one) { made_.calls_.push_back({one.rule, one.to}); });
    sort(jumps_, made_.jumps_of_, [&](const Jump& one) { made_.jumps_.push_back(one.to); });
    made_.is_end_.assign(states_, false);
    for (const RulePart& rule : rules_) {
      made_.is_end_[rule.end] = true;
      made_.rules_.push_back({rule.start, rule.end, rule.is_nullable, rule.rank});
    }
  }

  Automaton& made_;
  const std::array<bool, 256>& bytes_;
  std::vector<utf8::Range> alphabet_;
  bool is_restricted_;  // whether texts are restricted to alphabet_
  std::size_t states_ = 0;
  std::vector<Edge> edges_;
  std::vector<Call> calls_;
  std::vector<Jump> jumps_;
  std::vector<RulePart> rules_;
  std::vector<WaitingRule> waiting_;
  std::unordered_map<index, std::uint32_t> rule_of_;  // the key is Rule::id()
  std::unordered_map<const Node*, std::uint32_t> shared_;
  using RangesKey = std::vector<std::pair<char32_t, char32_t>>;
  std::map<RangesKey, std::uint32_t> characters_;
  std::map<std::tuple<const Node*, std::uintptr_t, index, bool>, std::uint32_t> copies_;  // rules of repetitions
  std::unordered_map<const Node*, index> estimates_;
  std::size_t steps_ = 0;        // steps of CharacterAutomaton
  Spelling spelling_ = nullptr;  // spelling of the parts that are being added
  std::map<std::pair<std::uintptr_t, RangesKey>, std::optional<Grammar>> spelled_;
  std::vector<NamedPart> open_names_;  // the parts that are being added
  std::map<std::string, std::size_t> states_of_names_;
  const std::function<void()>& on_progress_;
};

Automaton::Automaton(const Grammar& grammar, const Alphabet& alphabet, const std::function<void()>& on_progress) {
  AutomatonMaker(*this, alphabet, on_progress).make(grammar);
}

}  // namespace dikkat
