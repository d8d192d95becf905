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
Grammar enclosed(const char* open, Grammar parts, const char* close, const JsonForm& form) {
  return any_of(
      {sequence({literal(open), json_space(form), std::move(parts), json_space(form), literal(close)}), literal(concat(open, close))});
}

struct Values {
  Grammar value, object;
};

Values make_values(const JsonForm& form) {
  const Rule value("a JSON value"), object("a JSON object"), list("a JSON list");
  const Grammar text =
      form.quote.empty() ? json_string() : shared(sequence({literal(form.quote), text_before({}, form.quote), literal(form.quote)}));
  const Grammar field = sequence({form.quote.empty() ? text : bare_name(form), json_colon(form), reference(value)});
  const auto some = [&](const Grammar& part) { return sequence({part, repeat(sequence({json_comma(form), part}), 0)}); };
  const std::vector<std::pair<Rule, Grammar>> rules = {
      {value, any_of({reference(object), reference(list), text, json_number(), json_word("true", form), json_word("false", form),
                      json_word("null", form)})},
      {object, enclosed("{", some(field), "}", form)},
      {list, enclosed("[", some(reference(value)), "]", form)},
  };
  return {with_rules(reference(value), rules), with_rules(reference(object), rules)};  // both share their rules
}

const Values& values() {
  static const Values all = make_values(kJsonForms[0]);
  return all;
}

}  // namespace

Grammar json_space(const JsonForm& form) {
  static const Grammar space = shared(optional(any_of({literal(" "), sequence({literal("\n"), repeat(literal(" "), 0, kMostIndent)})})));
  return form.quote.empty() ? space : sequence({});
}

Grammar json_colon(const JsonForm& form) { return form.quote.empty() ? sequence({literal(":"), optional(literal(" "))}) : literal(":"); }

Grammar json_comma(const JsonForm& form) { return sequence({literal(","), json_space(form)}); }

Grammar json_value(const JsonForm& form) { return form.quote.empty() ? values().value : make_values(form).value; }
Grammar json_object(const JsonForm& form) { return form.quote.empty() ? values().object : make_values(form).object; }

Grammar json_word(std::string_view word, const JsonForm& form) {
  std::vector<Grammar> words = {literal(word)};
  for (const JsonForm::Word& one : form.words) {
    if (one.second == word) {
      words.push_back(literal(one.first));
    }
  }
  return words.size() == 1 ? words[0] : any_of(std::move(words));
}

Grammar json_name(const std::string& name, const JsonForm& form) {
  const bool is_json = form.quote.empty();
  return is_json || form.can_write_name(name) ? literal(is_json ? json_text(nlohmann::ordered_json(name)) : name) : any_of({});
}

Grammar bare_name(const JsonForm& form) {
  std::vector<Range> others;
  for (const char c : form.not_in_names) {
    others.push_back({static_cast<char32_t>(c), static_cast<char32_t>(c)});
  }
  return repeat(one_character(other_characters(normal_ranges(std::move(others)))), 1);
}

Grammar text_before(std::vector<Grammar> parts, std::string_view end) {
  if (parts.empty()) {
    return text_without(end);
  }
  const Grammar any = repeat(one_character({{0, utf8::kLastCodePoint}}), 0);
  parts.push_back(all_but(sequence({any, literal(end), any})));
  return all_of(std::move(parts));
}

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

Grammar json_constant(const nlohmann::ordered_json& value, const JsonForm& form) {
  if (value.is_object() || value.is_array()) {
    std::vector<Separable> parts;
    for (const auto& [name, field] : value.items()) {
      const Grammar part = json_constant(field, form);
      parts.push_back({value.is_array() ? part : sequence({json_name(name, form), json_colon(form), part})});
    }
    const char* open = value.is_object() ? "{" : "[";
    const char* close = value.is_object() ? "}" : "]";
    if (parts.empty()) {
      return literal(concat(open, close));
    }
    return sequence({literal(open), json_space(form), separated(std::move(parts), json_comma(form)), json_space(form), literal(close)});
  }
  if (value.is_string() && !form.quote.empty()) {
    const std::string& text = value.get_ref<const std::string&>();
    return text.find(form.quote) == std::string::npos ? literal(concat(form.quote, text, form.quote)) : any_of({});
  }
  return value.is_boolean() || value.is_null() ? json_word(json_text(value), form) : literal(json_text(value));
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
