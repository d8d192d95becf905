#include "train/chat/template/value.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <compare>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "train/chat/template/characters.h"
#include "train/chat/template/loop_state.h"
#include "train/chat/template/template_error.h"
#include "train/system/json.h"

namespace dikkat::jinja {
namespace {

constexpr std::size_t kMostWeight = MarkedText::kMostBytes;
constexpr std::size_t kMostItems = 1'000'000;
constexpr int kMostContainers = 128;

template <class Items>
void measure(Items& container, const auto& value_of) {
  for (const auto& one : container.items) {
    const Value& value = value_of(one);
    container.levels = std::max(container.levels, value.levels() + 1);
    container.weight += value.weight() + 1;
  }
  if (container.levels > kMostContainers) {
    fail_template("nests lists and dicts more than ", kMostContainers, " levels deep");
  }
  if (container.weight > kMostWeight) {
    fail_template("makes a value of more than ", kMostWeight, " bytes");
  }
}

[[noreturn]] void fail_undefined(const Value& value) {
  const auto* undefined = value.as<Undefined>();
  fail_template(undefined->name ? *undefined->name : "a value", " is undefined");
}

std::vector<Value> characters_of(const MarkedText& text) {
  check_item_count(text.size());
  std::vector<Value> characters;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t next = next_character(text.bytes(), at);
    characters.emplace_back(text.between(at, next));
    at = next;
  }
  return characters;
}

template <class T>
int order_of(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

/// Compares two integers by their digits.
int compare_digits(const std::string& a, const std::string& b) {
  const bool is_negative = a.starts_with('-');
  if (is_negative != b.starts_with('-')) {
    return is_negative ? -1 : 1;
  }
  const int order = a.size() != b.size() ? order_of(a.size(), b.size()) : order_of(a, b);
  return is_negative ? -order : order;
}

/// Compares two numbers exactly, as Python does.
std::partial_ordering compare_numbers(const Value& a, const Value& b) {
  if (a.is_integer() && b.is_integer()) {
    return a.integer() <=> b.integer();
  }
  const auto is_exact = [](const Value& value) {
    return value.is_whole() || (std::abs(value.real()) >= 0x1p53 && !std::isinf(value.real()));
  };
  if (is_exact(a) && is_exact(b)) {  // a float of this size is an integer
    const auto digits = [](const Value& value) { return value.is_whole() ? value.digits() : fmt::format("{:.0f}", value.real()); };
    return compare_digits(digits(a), digits(b)) <=> 0;
  }
  return a.real() <=> b.real();
}

/// Marks a generator as used. Throws TemplateError if it was used before.
void use_once(const ListValue& list) {
  if (list.kind == ListKind::generator && std::exchange(list.is_used, true)) {
    fail_template("uses the result of the filter ", list.printed,
                  " a second time, when it is empty in Jinja; expected |list after the filter");
  }
}

/// Returns the place of an index, which may count from the end; -1 if it is outside.
std::int64_t place(std::int64_t index, std::int64_t size) {
  const std::int64_t at = index < 0 ? index + size : index;
  return 0 <= at && at < size ? at : -1;
}

}  // namespace

void check_item_count(std::size_t count) {
  if (count > kMostItems) {
    fail_template("makes a list of more than ", kMostItems, " items");
  }
}

void require_key(const Value& key) {
  if (key.is(ListKind::tuple)) {
    std::ranges::for_each(key.list()->items, require_key);
  } else if (!key.text() && !key.is_number() && !key.is_none()) {
    fail_template("uses ", key.type_name(), " as the key of a dict, expected a str, number, None or tuple");
  }
}

const Value* DictValue::find(std::string_view key) const {
  const auto found = std::ranges::find_if(items, [&](const auto& item) { return item.first.text() && item.first.text()->bytes() == key; });
  return found == items.end() ? nullptr : &found->second;
}

const Value* DictValue::find(const Value& key) const {
  if (key.text()) {
    return find(key.text()->bytes());
  }
  const auto found = std::ranges::find_if(items, [&](const auto& item) { return equal(item.first, key); });
  return found == items.end() ? nullptr : &found->second;
}

void set_item(DictItems& items, std::string_view key, Value value) {
  std::erase_if(items, [&](const auto& item) { return item.first.text() && item.first.text()->bytes() == key; });
  items.emplace_back(Value(key), std::move(value));
}

Value Value::safe(MarkedText text) {
  Value value;
  value.value_ = SafeText{std::make_shared<const MarkedText>(std::move(text))};
  return value;
}

Value Value::list(std::vector<Value> items, ListKind kind, std::string printed) {
  auto made = std::make_shared<ListValue>();
  made->items = std::move(items);
  made->kind = kind;
  made->printed = std::move(printed);
  measure(*made, [](const Value& value) -> const Value& { return value; });
  Value value;
  value.value_ = List(std::move(made));
  return value;
}

bool Value::is(ListKind kind) const { return list() && list()->kind == kind; }

Value Value::dict(DictItems items) {
  auto made = std::make_shared<DictValue>();
  made->items = std::move(items);
  measure(*made, [](const auto& item) -> const Value& { return item.second; });
  for (const auto& [key, value] : made->items) {
    made->weight += key.weight();
  }
  Value value;
  value.value_ = Dict(std::move(made));
  return value;
}

Value Value::integer_of(std::string_view digits) {
  std::int64_t number = 0;
  if (const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
      error == std::errc() && end == digits.data() + digits.size()) {
    return Value(number);
  }
  Value value;
  value.value_ = LargeInteger{std::make_shared<const std::string>(digits)};
  return value;
}

Value Value::from_json(const nlohmann::ordered_json& json, Origin origin) {
  switch (json.type()) {
    case nlohmann::ordered_json::value_t::boolean: return Value(json.get<bool>());
    case nlohmann::ordered_json::value_t::number_integer: return Value(json.get<std::int64_t>());
    case nlohmann::ordered_json::value_t::number_unsigned:
    case nlohmann::ordered_json::value_t::binary: return integer_of(*integer_digits(json));
    case nlohmann::ordered_json::value_t::number_float: return Value(json.get<double>());
    case nlohmann::ordered_json::value_t::string: return Value(MarkedText(json.get_ref<const std::string&>(), origin));
    case nlohmann::ordered_json::value_t::array: {
      std::vector<Value> items;
      for (const auto& one : json) {
        items.push_back(from_json(one, origin));
      }
      return list(std::move(items));
    }
    case nlohmann::ordered_json::value_t::object: {
      DictItems items;
      for (const auto& [key, one] : json.items()) {
        items.emplace_back(Value(MarkedText(key, origin)), from_json(one, origin));
      }
      return dict(std::move(items));
    }
    default: return Value(nullptr);
  }
}

std::string_view Value::type_name() const {
  struct Names {
    std::string_view operator()(const Undefined&) const { return "undefined"; }
    std::string_view operator()(std::nullptr_t) const { return "NoneType"; }
    std::string_view operator()(bool) const { return "bool"; }
    std::string_view operator()(std::int64_t) const { return "int"; }
    std::string_view operator()(const LargeInteger&) const { return "int"; }
    std::string_view operator()(double) const { return "float"; }
    std::string_view operator()(const Text&) const { return "str"; }
    std::string_view operator()(const SafeText&) const { return "str"; }
    std::string_view operator()(const List& list) const {
      constexpr std::string_view kNames[] = {"list", "tuple", "range", "dict_keys", "dict_values", "dict_items", "generator"};
      return kNames[static_cast<std::size_t>(list->kind)];
    }
    std::string_view operator()(const Dict&) const { return "dict"; }
    std::string_view operator()(const Namespace*) const { return "namespace"; }
    std::string_view operator()(const Callable&) const { return "function"; }
    std::string_view operator()(const Loop&) const { return "loop"; }
    std::string_view operator()(const Method&) const { return "method"; }
  };
  return std::visit(Names{}, value_);
}

std::string Value::digits() const { return as<LargeInteger>() ? *as<LargeInteger>()->digits : std::to_string(integer()); }

double Value::real() const {
  if (const auto* large = as<LargeInteger>()) {
    return std::strtod(large->digits->c_str(), nullptr);
  }
  return as<double>() ? *as<double>() : static_cast<double>(integer());
}

std::size_t Value::size() const {
  if (text()) {
    return text()->size();
  }
  return list() ? 8 * list()->items.size() : dict() ? 8 * dict()->items.size() : 0;
}

std::size_t Value::weight() const {
  return text()               ? text()->size()
         : as<LargeInteger>() ? as<LargeInteger>()->digits->size()
         : list()             ? list()->weight
         : dict()             ? dict()->weight
                              : 0;
}

int Value::levels() const { return list() ? list()->levels : dict() ? dict()->levels : 0; }

bool is_true(const Value& value) {
  if (value.is_undefined() || value.is_none()) {
    return false;
  }
  if (value.is_number()) {
    return value.real() != 0;
  }
  if (value.text()) {
    return value.text()->size() > 0;
  }
  if (value.is(ListKind::generator)) {
    fail_template("asks whether the result of the filter ", value.list()->printed,
                  " is true, which Jinja answers with yes even if it has no items; expected |list after the filter");
  }
  return value.list() ? !value.list()->items.empty() : value.dict() ? !value.dict()->items.empty() : true;
}

bool equal(const Value& a, const Value& b) {
  // Compare numbers and texts.
  if (a.is_number() && b.is_number()) {
    return compare_numbers(a, b) == 0;
  }
  if (a.text() && b.text()) {
    return a.text()->bytes() == b.text()->bytes();
  }
  // Compare lists and dicts by their items.
  if (a.list() && b.list()) {
    const ListKind kind = a.list()->kind;
    if (kind != b.list()->kind || kind == ListKind::generator || kind == ListKind::values) {
      return a.list() == b.list();
    }
    const auto &x = a.list()->items, &y = b.list()->items;
    if (kind != ListKind::keys && kind != ListKind::items) {
      return std::ranges::equal(x, y, equal);
    }
    constexpr std::size_t kMostUnordered = 16;  // since each item is looked for among all others
    if (x.size() != y.size() || std::ranges::equal(x, y, equal)) {
      return x.size() == y.size();
    }
    if (x.size() > kMostUnordered) {
      fail_template("compares views of dicts with more than ", kMostUnordered, " items in other orders, which is not supported");
    }
    return std::ranges::is_permutation(x, y, equal);
  }
  if (a.dict() && b.dict()) {
    const auto& items = a.dict()->items;
    return items.size() == b.dict()->items.size() && std::all_of(items.begin(), items.end(), [&](const auto& item) {
             const Value* other = b.dict()->find(item.first);
             return other && equal(item.second, *other);
           });
  }
  // Compare the others by identity, and methods by their name and object.
  if (a.names() || b.names()) {
    return a.names() == b.names();
  }
  if (a.loop() || b.loop()) {
    return a.loop() == b.loop();
  }
  if (const auto *f = a.as<Callable>(), *g = b.as<Callable>(); f && g) {
    return f->kind == g->kind && f->macro == g->macro && f->caller == g->caller;
  }
  if (a.method() && b.method()) {
    return a.method()->name == b.method()->name && equal(a.method()->object, b.method()->object);
  }
  return (a.is_none() && b.is_none()) || (a.is_undefined() && b.is_undefined());
}

int compare(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    const std::partial_ordering order = compare_numbers(a, b);
    if (order == std::partial_ordering::unordered) {
      fail_template("compares the order of nan with another number, which has none");
    }
    return order < 0 ? -1 : order > 0 ? 1 : 0;
  }
  if (a.text() && b.text()) {
    return order_of(a.text()->bytes(), b.text()->bytes());  // UTF-8 sorts as code points do
  }
  if (a.list() && b.list() && a.list()->kind == b.list()->kind && (a.is(ListKind::list) || a.is(ListKind::tuple))) {
    const auto &x = a.list()->items, &y = b.list()->items;
    for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
      if (!equal(x[i], y[i])) {
        return compare(x[i], y[i]);
      }
    }
    return order_of(x.size(), y.size());
  }
  if (a.is_undefined() || b.is_undefined()) {
    fail_undefined(a.is_undefined() ? a : b);
  }
  fail_template("compares the order of ", a.type_name(), " and ", b.type_name(), ", which have none");
}

bool contains(const Value& container, const Value& item) {
  if (container.text()) {
    if (!item.text()) {
      fail_template("looks for ", item.type_name(), " in a str, expected a str");
    }
    return find_text(container.text()->bytes(), item.text()->bytes()) != std::string::npos;
  }
  if (container.dict()) {
    if (item.is(ListKind::list) || item.dict()) {
      require_key(item);
    }
    return container.dict()->find(item);
  }
  if (container.list()) {
    use_once(*container.list());
    return std::ranges::any_of(container.list()->items, [&](const Value& one) { return equal(one, item); });
  }
  if (container.is_undefined()) {
    return false;
  }
  fail_template("looks for an item in ", container.type_name(), ", expected a str, list or dict");
}

std::vector<Value> items_of(const Value& value) {
  if (value.list()) {
    use_once(*value.list());
    return value.list()->items;
  }
  if (value.text()) {
    return characters_of(*value.text());
  }
  if (value.dict()) {
    std::vector<Value> keys;
    for (const auto& item : value.dict()->items) {
      keys.emplace_back(item.first);
    }
    return keys;
  }
  if (value.is_undefined()) {
    return {};
  }
  fail_template("loops over ", value.type_name(), ", expected a list, dict or str");
}

std::int64_t length(const Value& value) {
  if (value.text()) {
    return static_cast<std::int64_t>(count_characters(value.text()->bytes()));
  }
  if (value.loop()) {
    return static_cast<std::int64_t>(value.loop()->values.size());
  }
  if ((value.list() && !value.is(ListKind::generator)) || value.dict()) {
    return static_cast<std::int64_t>(value.list() ? value.list()->items.size() : value.dict()->items.size());
  }
  if (value.is_undefined()) {
    return 0;
  }
  fail_template("asks for the length of ", value.type_name(), ", expected a str, list or dict");
}

Value item(const Value& container, const Value& key) {
  const auto missing = [&] {
    const std::string name = key.text() ? concat("'", key.text()->bytes(), "'") : std::string(to_text(key).bytes());
    return Value(Undefined{std::make_shared<const std::string>(concat("item ", name, " of a ", container.type_name()))});
  };
  // Find a key of a dict or a namespace.
  if (container.is_undefined()) {
    fail_undefined(container);
  }
  if (container.dict()) {
    const Value* found = container.dict()->find(key);
    return found ? *found : missing();
  }
  if (container.names() && key.text()) {
    for (const auto& [name, value] : container.names()->items) {
      if (name == key.text()->bytes()) {
        return value;
      }
    }
    return missing();
  }
  // Find an index of a list or a text.
  if (container.list() && container.list()->kind <= ListKind::range && key.is_integer()) {
    const std::int64_t at = place(key.integer(), static_cast<std::int64_t>(container.list()->items.size()));
    return at < 0 ? missing() : container.list()->items[static_cast<std::size_t>(at)];
  }
  if (container.text() && key.is_integer()) {
    const std::string& bytes = container.text()->bytes();
    const std::int64_t at = place(key.integer(), length(container));
    if (at < 0) {
      return missing();
    }
    const std::size_t first = character_offset(bytes, static_cast<std::size_t>(at));
    MarkedText character = container.text()->between(first, next_character(bytes, first));
    return container.is_safe() ? Value::safe(std::move(character)) : Value(std::move(character));
  }
  return missing();
}

Value slice(const Value& container, const Value& begin, const Value& end, const Value& step) {
  const auto bound = [](const Value& value, const char* what) {
    if (!value.is_none() && !value.is_integer()) {
      fail_template("has a slice whose ", what, " is ", value.type_name(), ", expected an integer of 64 bits");
    }
    return !value.is_none();
  };
  // Check the step and the type.
  const std::int64_t by = bound(step, "step") ? step.integer() : 1;
  if (by == 0) {
    fail_template("has a slice whose step is 0");
  }
  if (!container.text() && !container.is(ListKind::list) && !container.is(ListKind::tuple)) {
    container.is_undefined() ? fail_undefined(container)
                             : fail_template("takes a slice of ", container.type_name(), ", expected a str, list or tuple");
  }
  const auto result = [&](MarkedText text) { return container.is_safe() ? Value::safe(std::move(text)) : Value(std::move(text)); };
  // Clamp the bounds as Python's slice.indices() does.
  const std::int64_t size = length(container), low = by < 0 ? -1 : 0, high = by < 0 ? size - 1 : size;
  const auto clamp = [&](std::int64_t at) { return at < 0 ? std::max(at + size, low) : std::min(at, high); };
  const std::int64_t first = bound(begin, "begin") ? clamp(begin.integer()) : by < 0 ? high : low;
  const std::int64_t last = bound(end, "end") ? clamp(end.integer()) : by < 0 ? low : high;
  // Copy a range of a text, or collect the items one by one.
  if (container.text() && by == 1) {
    const std::string& bytes = container.text()->bytes();
    const std::size_t from = character_offset(bytes, static_cast<std::size_t>(first));
    return result(container.text()->between(from, std::max(from, character_offset(bytes, static_cast<std::size_t>(last)))));
  }
  const std::vector<Value> items = items_of(container);
  std::vector<Value> taken;
  for (std::int64_t at = first; by > 0 ? at < last : at > last;) {
    taken.push_back(items[static_cast<std::size_t>(at)]);
    if (__builtin_add_overflow(at, by, &at)) {
      break;
    }
  }
  if (container.list()) {
    return Value::list(std::move(taken), container.list()->kind);
  }
  MarkedText text;
  for (const Value& character : taken) {
    text.append(*character.text());
  }
  return result(std::move(text));
}

}  // namespace dikkat::jinja
