#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "train/chat/template/attributes.h"
#include "train/chat/template/builtins.h"
#include "train/chat/template/characters.h"
#include "train/chat/template/print.h"
#include "train/chat/template/text_format.h"
#include "train/chat/template/text_methods.h"

namespace dikkat::jinja {
namespace {

/// Returns a text with the mark of another value: whether it is safe.
Value marked_as(const Value& value, MarkedText text) { return value.is_safe() ? Value::safe(std::move(text)) : Value(std::move(text)); }

/// Returns the result of a filter that Jinja computes when it is used.
Value generator(std::vector<Value> items, const char* filter) { return Value::list(std::move(items), ListKind::generator, filter); }

/// Returns whether a value has no items for filters that take any false value as an empty list.
bool is_empty(const Value& value) { return !value.is(ListKind::generator) && !is_true(value); }

/// Returns the value at "a.b" or "a.0" in `value`, as the argument attribute of Jinja's filters names it. A part that is missing is
/// `otherwise`, or undefined.
Value attribute_at(const Value& value, const Value& path, const std::optional<Value>& otherwise = std::nullopt) {
  const auto part_of = [&](const Value& from, const Value& part) {
    Value found = subscript(from, part);
    return found.is_undefined() && otherwise ? *otherwise : found;
  };
  if (path.is_integer()) {
    return part_of(value, path);
  }
  if (!path.text()) {
    fail_template("gives a filter ", path.type_name(), " as attribute, expected a str");
  }
  if (path.text()->bytes().find(',') != std::string::npos) {
    fail_template("gives a filter the attributes '", path.text()->bytes(), "', of which only one is supported");
  }
  Value found = value;
  std::string_view rest = path.text()->bytes();
  for (;;) {
    const std::size_t dot = rest.find('.');
    const std::string_view name = rest.substr(0, dot);
    const bool is_index = !name.empty() && name.size() < 10 && name.find_first_not_of("0123456789") == std::string_view::npos;
    found = part_of(found, is_index ? Value(std::int64_t{std::stol(std::string(name))}) : Value(name));
    if (dot == std::string_view::npos) {
      return found;
    }
    rest.remove_prefix(dot + 1);
  }
}

Value first_of(const Value& value, bool last) {
  if (last && value.is(ListKind::generator)) {
    fail_template("asks for the last item of the result of the filter ", value.list()->printed, ", expected |list after the filter");
  }
  std::vector<Value> items = items_of(value);
  if (items.empty()) {
    return Value(
        Undefined{std::make_shared<const std::string>(concat("the ", last ? "last" : "first", " item of an empty ", value.type_name()))});
  }
  return last ? items.back() : items.front();
}

Value joined(const Value& value, Arguments& arguments) {
  const std::optional<Value> separator = arguments.take("d");
  const std::optional<Value> attribute = arguments.take("attribute");
  MarkedText text;
  bool is_first = true;
  for (const Value& one : items_of(value)) {
    if (!is_first && separator) {
      text.append(to_text(*separator));
    }
    is_first = false;
    text.append(to_text(attribute && !attribute->is_none() ? attribute_at(one, *attribute) : one));
  }
  return Value(std::move(text));
}

Value as_json(const Value& value, Arguments& arguments) {
  JsonStyle style;
  // The order of the arguments is that of transformers' filter.
  const std::optional<Value> ascii = arguments.take("ensure_ascii");
  style.ascii = ascii && is_true(*ascii);
  style.indent = arguments.take_integer("indent");
  if (const std::optional<Value> separators = arguments.take("separators"); separators && !separators->is_none()) {
    const std::vector<Value> texts = items_of(*separators);
    if (texts.size() != 2 || !texts[0].text() || !texts[1].text()) {
      fail_template("gives the filter tojson separators that are not two texts");
    }
    style.between_items = *texts[0].text();
    style.after_key = *texts[1].text();
  }
  const std::optional<Value> sorts = arguments.take("sort_keys");
  style.sorts_keys = sorts && is_true(*sorts);
  return Value(json_of(value, style));
}

Value pairs_of(const Value& value) {
  if (!value.dict() && !value.is_undefined()) {
    fail_template("asks for the items of ", value.type_name(), ", expected a dict");
  }
  std::vector<Value> pairs;
  for (const auto& [key, one] : value.dict() ? value.dict()->items : DictItems()) {
    pairs.push_back(Value::list({key, one}, ListKind::tuple));
  }
  return generator(std::move(pairs), "items");
}

Value defaulted(const Value& value, Arguments& arguments) {
  const std::optional<Value> otherwise = arguments.take("default_value");
  const std::optional<Value> also_false = arguments.take("boolean");
  const bool replaces = value.is_undefined() || (also_false && is_true(*also_false) && !is_true(value));
  return !replaces ? value : otherwise ? *otherwise : Value("");
}

/// Returns the items for which a test holds, or does not hold. With `by_attribute`, the test is of an attribute of the item.
Value selected(const Value& value, Arguments& arguments, const char* filter, bool wanted, bool by_attribute) {
  if (is_empty(value)) {
    arguments.take_placed();
    return generator({}, filter);
  }
  std::optional<Value> attribute;
  if (by_attribute) {
    attribute = arguments.need("attribute");
  }
  const std::optional<MarkedText> name = arguments.take_text("test");
  const std::vector<Value> others = arguments.take_placed();
  const Test test = name ? find_test(name->bytes()) : nullptr;
  if (name && !test) {
    fail_template("uses the test ", name->bytes(), ", which is not supported");
  }
  std::vector<Value> kept;
  for (const Value& one : items_of(value)) {
    const Value subject = attribute ? attribute_at(one, *attribute) : one;
    Arguments test_arguments(concat("the test ", name ? name->bytes() : ""), others);
    const bool holds = test ? test(subject, test_arguments) : is_true(subject);
    if (test) {
      test_arguments.end();
    }
    if (holds == wanted) {
      kept.push_back(one);
    }
  }
  return generator(std::move(kept), filter);
}

Value mapped(const Value& value, Arguments& arguments) {
  std::vector<Value> results;
  if (is_empty(value)) {
    arguments.take_placed();
    arguments.take_named();
    return generator({}, "map");
  }
  if (std::vector<Value> placed = arguments.take_placed(); !placed.empty()) {
    const MarkedText* const name = placed.front().text();
    const Filter filter = name ? find_filter(name->bytes()) : nullptr;
    if (!filter) {
      fail_template("maps with the filter ", to_text(placed.front()).bytes(), ", which is not supported");
    }
    placed.erase(placed.begin());
    const auto named = arguments.take_named();
    for (const Value& one : items_of(value)) {
      Arguments filter_arguments(concat("the filter ", name->bytes()), placed, named);
      results.push_back(filter(one, filter_arguments));
      filter_arguments.end();
    }
    return generator(std::move(results), "map");
  }
  const Value attribute = arguments.need("attribute");
  const std::optional<Value> otherwise = arguments.take("default");
  for (const Value& one : items_of(value)) {
    results.push_back(attribute_at(one, attribute, otherwise && !otherwise->is_none() ? otherwise : std::nullopt));
  }
  return generator(std::move(results), "map");
}

/// Returns a value to compare: a text in lower case, unless case counts.
Value sort_key(const Value& value, bool case_counts) { return case_counts || !value.text() ? value : Value(lower_case(*value.text())); }

void sort_by(std::vector<Value>& items, bool reverse, auto key) {
  std::vector<std::pair<Value, Value>> keyed;
  for (Value& one : items) {
    Value sorted_by = key(one);
    keyed.emplace_back(std::move(sorted_by), std::move(one));
  }
  std::stable_sort(keyed.begin(), keyed.end(),
                   [&](const auto& a, const auto& b) { return reverse ? compare(b.first, a.first) < 0 : compare(a.first, b.first) < 0; });
  std::transform(keyed.begin(), keyed.end(), items.begin(), [](auto& pair) { return std::move(pair.second); });
}

Value sorted(const Value& value, Arguments& arguments) {
  const std::optional<Value> reverse = arguments.take("reverse"), case_sensitive = arguments.take("case_sensitive");
  const std::optional<Value> attribute = arguments.take("attribute");
  std::vector<Value> items = items_of(value);
  sort_by(items, reverse && is_true(*reverse), [&](const Value& one) {
    return sort_key(attribute && !attribute->is_none() ? attribute_at(one, *attribute) : one, case_sensitive && is_true(*case_sensitive));
  });
  return Value::list(std::move(items));
}

Value sorted_pairs(const Value& value, Arguments& arguments) {
  const std::optional<Value> case_sensitive = arguments.take("case_sensitive");
  const std::optional<MarkedText> by = arguments.take_text("by");
  const std::optional<Value> reverse = arguments.take("reverse");
  const bool by_value = by && by->bytes() == "value";
  if (by && !by_value && by->bytes() != "key") {
    fail_template("gives the filter dictsort by='", by->bytes(), "', expected 'key' or 'value'");
  }
  if (!value.dict()) {
    fail_template("sorts ", value.type_name(), " by its keys, expected a dict");
  }
  std::vector<Value> pairs = pairs_of(value).list()->items;
  sort_by(pairs, reverse && is_true(*reverse),
          [&](const Value& pair) { return sort_key(pair.list()->items[by_value ? 1 : 0], case_sensitive && is_true(*case_sensitive)); });
  return Value::list(std::move(pairs));
}

Value unique(const Value& value, Arguments& arguments) {
  const std::optional<Value> case_sensitive = arguments.take("case_sensitive");
  const std::optional<Value> attribute = arguments.take("attribute");
  std::vector<Value> kept, keys;
  for (const Value& one : items_of(value)) {
    Value key =
        sort_key(attribute && !attribute->is_none() ? attribute_at(one, *attribute) : one, case_sensitive && is_true(*case_sensitive));
    if (keys.size() > 10'000) {
      fail_template("asks for the unique items among more than ", keys.size(), " values");
    }
    if (std::none_of(keys.begin(), keys.end(), [&](const Value& other) { return equal(other, key); })) {
      kept.push_back(one);
      keys.push_back(std::move(key));
    }
  }
  return generator(std::move(kept), "unique");
}

Value extreme(const Value& value, Arguments& arguments, bool largest) {
  const std::optional<Value> case_sensitive = arguments.take("case_sensitive");
  const std::optional<Value> attribute = arguments.take("attribute");
  const auto key = [&](const Value& one) {
    return sort_key(attribute && !attribute->is_none() ? attribute_at(one, *attribute) : one, case_sensitive && is_true(*case_sensitive));
  };
  const std::vector<Value> items = items_of(value);
  if (items.empty()) {
    return first_of(value, false);
  }
  const Value* best = &items.front();
  for (const Value& one : items) {
    if (const int order = compare(key(one), key(*best)); largest ? order > 0 : order < 0) {
      best = &one;
    }
  }
  return *best;
}

Value reversed(const Value& value, Arguments&) {
  if (value.text()) {
    return slice(value, Value(nullptr), Value(nullptr), Value(std::int64_t{-1}));
  }
  std::vector<Value> items = items_of(value);
  std::reverse(items.begin(), items.end());
  return value.is(ListKind::generator) ? Value::list(std::move(items)) : generator(std::move(items), "reverse");
}

/// Removes the signs _ that stand between two digits. Returns nullopt if there is another one.
std::optional<std::string> without_separators(std::string_view text) {
  const auto is_digit_at = [&](std::size_t at) { return at < text.size() && '0' <= text[at] && text[at] <= '9'; };
  std::string kept;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      kept += text[i];
    } else if (i == 0 || !is_digit_at(i - 1) || !is_digit_at(i + 1)) {
      return std::nullopt;
    }
  }
  return kept;
}

/// Returns the number that a whole text is, as Python's float() reads it; nullopt if it is not one.
std::optional<double> read_number(std::string text) {
  text = strip(MarkedText(text)).bytes();
  std::string word = text.substr(text.starts_with('-') || text.starts_with('+') ? 1 : 0);
  std::ranges::transform(word, word.begin(), [](char c) { return 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  if (word == "inf" || word == "infinity" || word == "nan") {
    return std::strtod(text.c_str(), nullptr);
  }
  text = without_separators(text).value_or("");
  if (text.empty() || text.find_first_not_of("0123456789+-.eE") != std::string::npos) {
    return std::nullopt;
  }
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  return *end == '\0' ? std::optional(number) : std::nullopt;
}

/// Returns the integer that a whole text is, as Python's int() reads it after stripping; nullopt if it is not one.
std::optional<std::string> read_digits(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  text.remove_prefix(is_negative || text.starts_with('+') ? 1 : 0);
  std::string digits = without_separators(text).value_or("");
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string::npos) {
    return std::nullopt;
  }
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));
  return (is_negative && digits != "0" ? "-" : "") + digits;
}

Value to_integer(const Value& value, Arguments& arguments) {
  const std::optional<Value> otherwise = arguments.take("default");
  std::optional<double> number;
  if (value.is_whole()) {
    return Value::integer_of(value.digits());
  }
  if (value.text()) {
    const std::string text = strip(*value.text()).bytes();
    if (const std::optional<std::string> digits = read_digits(text)) {
      return Value::integer_of(*digits);
    }
    number = read_number(text);
    if (number && !std::isfinite(*number)) {
      number = std::nullopt;
    }
  } else if (value.as<double>()) {
    number = value.real();
    if (!std::isfinite(*number)) {
      fail_template("converts ", float_text(*number), " to an int, which is not possible");
    }
  }
  if (!number) {
    return otherwise ? *otherwise : Value(std::int64_t{0});
  }
  const std::string digits = fmt::format("{:.0f}", std::trunc(*number));
  return Value::integer_of(digits == "-0" ? "0" : digits);
}

Value to_real(const Value& value, Arguments& arguments) {
  const std::optional<Value> otherwise = arguments.take("default");
  const std::optional<double> number = value.is_number() ? std::optional(value.real())
                                       : value.text()    ? read_number(value.text()->bytes())
                                                         : std::nullopt;
  return number ? Value(*number) : otherwise ? *otherwise : Value(0.0);
}

Value rounded(const Value& value, Arguments& arguments) {
  const std::int64_t precision = arguments.take_integer("precision").value_or(0);
  const std::optional<MarkedText> method = arguments.take_text("method");
  if (!value.is_number() || precision < 0 || precision > 15) {
    fail_template("rounds ", value.type_name(), " to ", precision, " digits, expected a number and 0 to 15 digits");
  }
  if (value.is_whole() && (!method || method->bytes() == "common")) {
    return Value::integer_of(value.digits());
  }
  const double factor = std::pow(10.0, static_cast<double>(precision));
  if (method && method->bytes() == "ceil") {
    return Value(std::ceil(value.real() * factor) / factor);
  }
  if (method && method->bytes() == "floor") {
    return Value(std::floor(value.real() * factor) / factor);
  }
  return Value(std::strtod(fmt::format("{:.{}f}", value.real(), precision).c_str(), nullptr));  // rounds the exact number, as Python does
}

Value absolute(const Value& value, Arguments&) {
  if (!value.is_number()) {
    fail_template("asks for the absolute value of ", value.type_name(), ", expected a number");
  }
  if (value.is_whole()) {
    const std::string digits = value.digits();
    return Value::integer_of(digits.starts_with('-') ? digits.substr(1) : digits);
  }
  return Value(std::abs(value.real()));
}

Value total(const Value& value, Arguments& arguments) {
  const std::optional<Value> attribute = arguments.take("attribute");
  const std::optional<Value> start = arguments.take("start");
  const auto require_number = [](const Value& number) {
    if (!number.is_number() || number.as<LargeInteger>()) {
      fail_template("adds ", number.as<LargeInteger>() ? "an int of more than 64 bits" : number.type_name(),
                    " to a sum, expected a number");
    }
  };
  if (start) {
    require_number(*start);
  }
  double real = start ? start->real() : 0;
  std::int64_t integer = start && start->is_integer() ? start->integer() : 0;
  bool is_integer = !start || start->is_integer();
  for (const Value& one : items_of(value)) {
    const Value number = attribute && !attribute->is_none() ? attribute_at(one, *attribute) : one;
    require_number(number);
    is_integer = is_integer && number.is_integer();
    real += number.real();
    if (is_integer && __builtin_add_overflow(integer, number.integer(), &integer)) {
      fail_template("computes an integer that does not fit into 64 bits");
    }
  }
  return is_integer ? Value(integer) : Value(real);
}

Value indented(const Value& value, Arguments& arguments) {
  const std::optional<Value> width = arguments.take("width");
  const std::optional<Value> first = arguments.take("first");
  const std::optional<Value> blank = arguments.take("blank");
  MarkedText margin(std::string(4, ' '));
  if (width && width->text()) {
    margin = *width->text();
  } else if (width && width->is_integer() && width->integer() <= 1'000) {
    margin = MarkedText(std::string(static_cast<std::size_t>(std::max(width->integer(), std::int64_t{0})), ' '));
  } else if (width) {
    fail_template("gives the filter indent ", width->type_name(), " as width, expected an int up to 1000 or a str");
  }
  const MarkedText text = to_text(value);
  MarkedText out;
  const std::string& bytes = text.bytes();
  for (std::size_t at = 0; at <= bytes.size();) {
    const std::size_t end = std::min(bytes.find('\n', at), bytes.size());
    const bool is_first = at == 0;
    if (is_first ? first && is_true(*first) : end > at || (blank && is_true(*blank))) {
      out.append(margin);
    }
    out.append(text, at, std::min(end + 1, bytes.size()));
    at = end + 1;
  }
  return marked_as(value, std::move(out));
}

/// Returns lists of `count` items, the last one filled with `fill_with`.
Value batched(const Value& value, Arguments& arguments) {
  const std::optional<std::int64_t> count = arguments.take_integer("linecount");
  const std::optional<Value> fill = arguments.take("fill_with");
  constexpr std::int64_t kMost = 10'000;
  if (!count || *count < 1 || *count > kMost) {
    fail_template("gives the filter batch a size that is not possible, expected 1 to ", kMost);
  }
  std::vector<Value> batches, batch;
  const std::vector<Value> items = items_of(value);
  for (std::size_t i = 0; i < items.size(); ++i) {
    batch.push_back(items[i]);
    if (i + 1 == items.size() && fill && !fill->is_none()) {
      batch.resize(static_cast<std::size_t>(*count), *fill);
    }
    if (i + 1 == items.size() || batch.size() == static_cast<std::size_t>(*count)) {
      batches.push_back(Value::list(std::exchange(batch, {})));
    }
  }
  return generator(std::move(batches), "batch");
}

Value escaped_value(const Value& value, Arguments&) { return value.is_safe() ? value : Value::safe(escaped(to_text(value))); }

/// Returns text % arguments.
Value format_filter(const Value& value, Arguments& arguments) {
  std::vector<Value> placed = arguments.take_placed();
  DictItems named;
  for (auto& [name, one] : arguments.take_named()) {
    named.emplace_back(Value(name), std::move(one));
  }
  if (!placed.empty() && !named.empty()) {
    fail_template("gives the filter format arguments with and without names, expected either");
  }
  const Value text = value.text() ? value : Value(to_text(value));
  return percent_format(text, named.empty() ? Value::list(std::move(placed), ListKind::tuple) : Value::dict(std::move(named)));
}

struct NamedFilter {
  std::string_view name;
  Filter filter;
};

constexpr NamedFilter kFilters[] = {
    {"abs", absolute},
    {"batch", batched},
    {"capitalize", [](const Value& v, Arguments&) { return marked_as(v, capitalized(to_text(v))); }},
    {"count", [](const Value& v, Arguments&) { return Value(length(v)); }},
    {"d", defaulted},
    {"default", defaulted},
    {"dictsort", sorted_pairs},
    {"e", escaped_value},
    {"escape", escaped_value},
    {"first", [](const Value& v, Arguments&) { return first_of(v, false); }},
    {"float", to_real},
    {"forceescape", [](const Value& v, Arguments&) { return Value::safe(escaped(to_text(v))); }},
    {"format", format_filter},
    {"indent", indented},
    {"int", to_integer},
    {"items", [](const Value& v, Arguments&) { return pairs_of(v); }},
    {"join", joined},
    {"last", [](const Value& v, Arguments&) { return first_of(v, true); }},
    {"length", [](const Value& v, Arguments&) { return Value(length(v)); }},
    {"list", [](const Value& v, Arguments&) { return Value::list(items_of(v)); }},
    {"lower", [](const Value& v, Arguments&) { return marked_as(v, lower_case(to_text(v))); }},
    {"map", mapped},
    {"max", [](const Value& v, Arguments& a) { return extreme(v, a, true); }},
    {"min", [](const Value& v, Arguments& a) { return extreme(v, a, false); }},
    {"reject", [](const Value& v, Arguments& a) { return selected(v, a, "reject", false, false); }},
    {"rejectattr", [](const Value& v, Arguments& a) { return selected(v, a, "rejectattr", false, true); }},
    {"replace", [](const Value& v, Arguments& a) { return replace_in(to_text(v), a); }},
    {"reverse", reversed},
    {"round", rounded},
    {"safe", [](const Value& v, Arguments&) { return Value::safe(to_text(v)); }},
    {"select", [](const Value& v, Arguments& a) { return selected(v, a, "select", true, false); }},
    {"selectattr", [](const Value& v, Arguments& a) { return selected(v, a, "selectattr", true, true); }},
    {"sort", sorted},
    {"string", [](const Value& v, Arguments&) { return marked_as(v, to_text(v)); }},
    {"sum", total},
    {"title", [](const Value& v, Arguments&) { return Value(jinja_title(to_text(v))); }},
    {"tojson", as_json},
    {"trim",
     [](const Value& v, Arguments& a) {
       const std::optional<MarkedText> characters = a.take_text("chars");
       return marked_as(v, strip(to_text(v), characters ? &*characters : nullptr));
     }},
    {"unique", unique},
    {"upper", [](const Value& v, Arguments&) { return marked_as(v, upper_case(to_text(v))); }},
};

}  // namespace

Filter find_filter(std::string_view name) {
  const auto* const found = std::lower_bound(std::begin(kFilters), std::end(kFilters), name,
                                             [](const NamedFilter& some, std::string_view wanted) { return some.name < wanted; });
  return found != std::end(kFilters) && found->name == name ? found->filter : nullptr;
}

}  // namespace dikkat::jinja
