#include "train/grammar/grammar.h"

#include <algorithm>
#include <atomic>

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

}  // namespace

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

Grammar separated(std::vector<Separable> parts, Grammar separator) {
  Grammar::Node node{.kind = Kind::separated};
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
