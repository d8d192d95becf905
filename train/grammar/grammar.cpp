#include "train/grammar/grammar.h"

#include <algorithm>
#include <atomic>
#include <unordered_map>
#include <unordered_set>

#include "train/grammar/node.h"

namespace dikkat {
namespace {

using Kind = Grammar::Node::Kind;

constexpr index kMostRepeats = 100'000;

Grammar of(Grammar::Node node) { return Grammar(std::make_shared<const Grammar::Node>(std::move(node))); }

void require_utf8(std::string_view text) {
  if (const auto invalid = utf8::first_invalid(text)) {
    fail_input("a text of the grammar has, at byte ", *invalid, ", ", utf8::describe_fault(text, *invalid), ", expected UTF-8");
  }
}

index characters_of_text(std::string_view text) {
  return std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
}

void count_characters(const Grammar& grammar, std::unordered_set<const Grammar::Node*>& seen, std::size_t& count) {
  const Grammar::Node& node = grammar.node();
  if (!seen.insert(&node).second) {
    return;
  }
  count += node.kind == Kind::literal ? node.text.size() : node.kind == Kind::character ? 1 : 0;
  for (const Grammar& part : node.parts) {
    count_characters(part, seen, count);
  }
}

/// Limits a length, so that sums and products of lengths stay in range.
index limited(index length) { return std::min<index>(length, 1'000'000'000); }

class LengthFinder {
 public:
  TextLengths of(const Grammar& grammar) {
    const Grammar::Node* const node = &grammar.node();
    const auto known = known_.find(node);
    return known != known_.end() ? known->second : known_.emplace(node, of(*node)).first->second;
  }

 private:
  TextLengths of(const Grammar::Node& node) {
    switch (node.kind) {
      case Kind::literal: return {characters_of_text(node.text), characters_of_text(node.text)};
      case Kind::character: return {1, 1};
      case Kind::all_but: return {};
      case Kind::repeat: {
        const TextLengths one = of(node.parts[0]);
        return {limited(one.shortest * node.least),
                one.longest && node.most >= 0 ? std::optional(limited(*one.longest * node.most)) : std::nullopt};
      }
      default: break;
    }
    if (node.kind == Kind::any_of || node.kind == Kind::all_of) {
      return of_parts(node, node.kind == Kind::all_of);
    }
    TextLengths all{.shortest = 0, .longest = 0};
    for (const Grammar& part : node.parts) {
      const TextLengths one = of(part);
      all.shortest = limited(all.shortest + one.shortest);
      all.longest = all.longest && one.longest ? std::optional(limited(*all.longest + *one.longest)) : std::nullopt;
    }
    return all;
  }

  TextLengths of_parts(const Grammar::Node& node, bool are_all) {
    TextLengths found;
    bool is_first = true;
    for (const Grammar& part : node.parts) {
      const TextLengths one = of(part);
      if (is_first) {
        found = one;
      } else if (are_all) {
        found.shortest = std::max(found.shortest, one.shortest);
        found.longest = found.longest && one.longest ? std::min(*found.longest, *one.longest) : found.longest ? found.longest : one.longest;
      } else {
        found.shortest = std::min(found.shortest, one.shortest);
        found.longest = found.longest && one.longest ? std::optional(std::max(*found.longest, *one.longest)) : std::nullopt;
      }
      is_first = false;
    }
    return found;
  }

  std::unordered_map<const Grammar::Node*, TextLengths> known_;
};

}  // namespace

bool has_no_text(const Grammar& grammar) { return grammar.node().kind == Kind::any_of && grammar.node().parts.empty(); }

std::size_t characters_in(const Grammar& grammar) {
  std::unordered_set<const Grammar::Node*> seen;
  std::size_t count = 0;
  count_characters(grammar, seen, count);
  return count;
}

TextLengths text_lengths(const Grammar& grammar) { return LengthFinder().of(grammar); }

std::vector<utf8::Range> normal_ranges(std::vector<utf8::Range> ranges) {
  // Surrogates divide the characters into two parts.
  std::vector<utf8::Range> parts;
  for (const utf8::Range range : ranges) {
    for (const utf8::Range part : {utf8::Range{0, 0xD7FF}, utf8::Range{0xE000, utf8::kLastCodePoint}}) {
      const char32_t first = std::max(range.first, part.first);
      const char32_t last = std::min(range.last, part.last);
      if (first <= last) {
        parts.push_back({first, last});
      }
    }
  }
  std::ranges::sort(parts, {}, &utf8::Range::first);
  std::vector<utf8::Range> apart;
  for (const utf8::Range range : parts) {
    if (!apart.empty() && range.first <= apart.back().last + 1) {
      apart.back().last = std::max(apart.back().last, range.last);
    } else {
      apart.push_back(range);
    }
  }
  return apart;
}

std::vector<utf8::Range> other_characters(const std::vector<utf8::Range>& ranges) {
  std::vector<utf8::Range> others;
  char32_t next = 0;
  for (const utf8::Range range : ranges) {
    if (next < range.first) {
      others.push_back({next, range.first - 1});
    }
    next = range.last + 1;
  }
  if (next <= utf8::kLastCodePoint) {
    others.push_back({next, utf8::kLastCodePoint});
  }
  return normal_ranges(std::move(others));
}

Grammar literal(std::string_view text) {
  require_utf8(text);
  return of({.kind = Kind::literal, .text = std::string(text)});
}

Grammar one_character(std::vector<utf8::Range> ranges) { return of({.kind = Kind::character, .ranges = normal_ranges(std::move(ranges))}); }

Grammar sequence(std::vector<Grammar> parts) { return of({.kind = Kind::sequence, .parts = std::move(parts)}); }

Grammar any_of(std::vector<Grammar> parts) { return of({.kind = Kind::any_of, .parts = std::move(parts)}); }

Grammar all_of(std::vector<Grammar> parts) { return of({.kind = Kind::all_of, .parts = std::move(parts)}); }

Grammar all_but(Grammar part) { return of({.kind = Kind::all_but, .parts = {std::move(part)}}); }

Grammar spelled(Grammar part, Spelling spelling) { return of({.kind = Kind::spelled, .parts = {std::move(part)}, .spelling = spelling}); }

Grammar named(Grammar part, std::string name) { return of({.kind = Kind::named, .text = std::move(name), .parts = {std::move(part)}}); }

Grammar optional(Grammar part) { return repeat(std::move(part), 0, 1); }

Grammar repeat(Grammar part, index least, std::optional<index> most) {
  require_input(0 <= least && least <= most.value_or(least) && most.value_or(least) <= kMostRepeats, "a grammar repeats a part ", least,
                " to ", most.value_or(-1), " times, expected at most ", kMostRepeats, ", and no fewer than at least");
  return of({.kind = Kind::repeat, .parts = {std::move(part)}, .least = least, .most = most.value_or(-1)});
}

Grammar text_without(std::string_view marker) {
  require_utf8(marker);
  require_input(!marker.empty(), "the marker that ends a text is empty, expected one character or more");
  return of({.kind = Kind::without, .text = std::string(marker)});
}

Grammar separated(std::vector<Separable> parts, Grammar separator, bool may_be_empty) {
  Grammar::Node node{.kind = Kind::separated, .least = may_be_empty ? 0 : 1};
  for (Separable& one : parts) {
    node.parts.push_back(std::move(one.part));
    node.optional_parts.push_back(one.is_optional);
  }
  node.parts.push_back(std::move(separator));
  return of(std::move(node));
}

Rule::Rule(std::string name) : name_(std::move(name)) {
  static std::atomic<index> next = 0;
  id_ = next++;
}

Grammar reference(const Rule& rule) { return of({.kind = Kind::reference, .rules = {rule}}); }

Grammar with_rules(Grammar start, std::vector<std::pair<Rule, Grammar>> rules) {
  Grammar::Node node{.kind = Kind::rules};
  for (auto& [rule, grammar] : rules) {
    node.rules.push_back(std::move(rule));
    node.parts.push_back(std::move(grammar));
  }
  node.parts.push_back(std::move(start));
  return of(std::move(node));
}

}  // namespace dikkat
