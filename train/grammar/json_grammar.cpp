#include "train/grammar/json_grammar.h"

#include <algorithm>
#include <string>

#include <nlohmann/json.hpp>

#include "train/grammar/node.h"
#include "train/grammar/number_range.h"
#include "train/system/json.h"

namespace dikkat {
namespace {

using utf8::Range;

constexpr index kMostFractionDigits = 16, kMostIndent = 16;

Grammar json_digits(index least, index most) { return repeat(one_character({{'0', '9'}}), least, most); }
Grammar hex(const char* digits_of) {
  std::vector<Range> ranges;
  for (const char* c = digits_of; *c != '\0'; ++c) {
    const auto one = static_cast<char32_t>(*c);
    ranges.push_back({one, one});
    if (one >= 'a') {
      ranges.push_back({one - 'a' + 'A', one - 'a' + 'A'});
    }
  }
  return one_character(std::move(ranges));
}

constexpr Range kRaw[] = {{0x20, 0x21}, {0x23, 0x5B}, {0x5D, utf8::kLastCodePoint}};

Grammar escaped_unit() {
  const Grammar any = hex("0123456789abcdef");
  const Grammar two = sequence({any, any});
  // Halves of surrogate pairs occur only in pairs.
  return any_of({
      sequence({hex("0123456789abcef"), any, two}),
      sequence({hex("d"), hex("01234567"), two}),
      sequence({hex("d"), hex("89ab"), two, literal("\\u"), hex("d"), hex("cdef"), two}),
  });
}

Grammar any_character() {
  static const Grammar character = any_of({
      one_character({std::begin(kRaw), std::end(kRaw)}),
      shared(sequence(
          {literal("\\"),
           any_of({one_character({{'"', '"'}, {'\\', '\\'}, {'/', '/'}, {'b', 'b'}, {'f', 'f'}, {'n', 'n'}, {'r', 'r'}, {'t', 't'}}),
                   sequence({literal("u"), escaped_unit()})})})),
  });
  return character;
}

Grammar make_string(index least, std::optional<index> most) {
  return sequence({literal("\""), repeat(any_character(), least, most), literal("\"")});
}

/// Matches the parts between an opening and a closing bracket.
Grammar enclosed(const char* open, Grammar parts, const char* close) {
  return any_of({sequence({literal(open), json_space(), std::move(parts), json_space(), literal(close)}), literal(concat(open, close))});
}

struct Values {
  Grammar value, object, list;
};

const Values& values() {
  static const Values all = [] {
    const Rule value("a JSON value"), object("a JSON object"), list("a JSON list");
    const Grammar field = sequence({json_string(), json_colon(), reference(value)});
    const std::vector<std::pair<Rule, Grammar>> rules = {
        {value,
         any_of({reference(object), reference(list), json_string(), json_number(), literal("true"), literal("false"), literal("null")})},
        {object, enclosed("{", sequence({field, repeat(sequence({json_comma(), field}), 0)}), "}")},
        {list, enclosed("[", sequence({reference(value), repeat(sequence({json_comma(), reference(value)}), 0)}), "]")},
    };
    // The three share their rules.
    return Values{with_rules(reference(value), rules), with_rules(reference(object), rules), with_rules(reference(list), rules)};
  }();
  return all;
}

}  // namespace

Grammar json_space() {
  static const Grammar space = shared(optional(any_of({literal(" "), sequence({literal("\n"), repeat(literal(" "), 0, kMostIndent)})})));
  return space;
}

Grammar json_colon() { return sequence({literal(":"), optional(literal(" "))}); }

Grammar json_comma() { return sequence({literal(","), json_space()}); }

Grammar json_value() { return values().value; }
Grammar json_object() { return values().object; }
Grammar json_list() { return values().list; }

Grammar json_string(index least, std::optional<index> most) {
  static const Grammar any = shared(make_string(0, std::nullopt));
  return least == 0 && !most ? any : make_string(least, most);
}

Grammar json_integer() {
  static const Grammar integer = shared(sequence(
      {optional(literal("-")), any_of({literal("0"), sequence({one_character({{'1', '9'}}), json_digits(0, kMostWholeDigits - 1)})})}));
  return integer;
}

Grammar json_number() {
  static const Grammar number = shared(sequence({
      json_integer(),
      optional(sequence({literal("."), json_digits(1, kMostFractionDigits)})),
      optional(sequence({one_character({{'e', 'e'}, {'E', 'E'}}), optional(one_character({{'+', '+'}, {'-', '-'}})), json_digits(1, 2)})),
  }));
  return number;
}

Grammar json_constant(const nlohmann::ordered_json& value) {
  if (value.is_object() || value.is_array()) {
    std::vector<Separable> parts;
    for (const auto& [name, field] : value.items()) {
      const Grammar part = json_constant(field);
      parts.push_back({value.is_array() ? part : sequence({literal(json_text(nlohmann::ordered_json(name))), json_colon(), part})});
    }
    const char* open = value.is_object() ? "{" : "[";
    const char* close = value.is_object() ? "}" : "]";
    if (parts.empty()) {
      return literal(concat(open, close));
    }
    return sequence({literal(open), json_space(), separated(std::move(parts), json_comma()), json_space(), literal(close)});
  }
  return literal(json_text(value));
}

Grammar json_character(const std::vector<Range>& ranges) {
  std::vector<Range> raw;
  std::vector<Grammar> escapes;
  for (const Range range : normal_ranges(ranges)) {
    for (const Range allowed : kRaw) {
      if (std::max(range.first, allowed.first) <= std::min(range.last, allowed.last)) {
        raw.push_back({std::max(range.first, allowed.first), std::min(range.last, allowed.last)});
      }
    }
    for (char32_t one = range.first; one <= std::min(range.last, char32_t{'\\'}); ++one) {
      if (one < 0x20 || one == '"' || one == '\\') {
        const std::string quoted = json_text(nlohmann::ordered_json(std::string(1, static_cast<char>(one))));
        escapes.push_back(literal(std::string_view(quoted).substr(1, quoted.size() - 2)));
      }
    }
  }
  if (escapes.empty()) {
    return one_character(std::move(raw));
  }
  return any_of({one_character(std::move(raw)), shared(any_of(std::move(escapes)))});
}

}  // namespace dikkat
