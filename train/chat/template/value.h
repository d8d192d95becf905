#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "train/chat/template/marked_text.h"

// The values of a template: Python's, as far as templates use them. Values are immutable and shared, except a namespace.
namespace dikkat::jinja {

class Macro;
struct ListValue;
struct DictValue;
struct Namespace;
struct LoopState;
struct BoundMethod;

/// The decimal digits of an integer that needs more than 64 bits, with '-' before those of a negative one. Such integers can be printed,
/// compared and handed on; to compute with them is an error.
struct LargeInteger {
  std::shared_ptr<const std::string> digits{};
};

/// A name, key or item that does not exist. It prints as nothing; most other uses are errors, which name it.
struct Undefined {
  std::shared_ptr<const std::string> name{};
};

/// A text that the filter safe or escape has marked: text that is added to it is escaped for HTML. Otherwise it is a text.
struct SafeText {
  std::shared_ptr<const MarkedText> text{};
};

/// The kinds of values that hold others in an order. They are Python's list, tuple and range; the views of a dict, which its methods
/// keys(), values() and items() return; and the generators that filters such as select return.
enum class ListKind : std::uint8_t { list, tuple, range, keys, values, items, generator };

/// A function that a template calls by name: a macro, a function of the language, or the body of a {% call %} block.
struct Callable {
  enum class Kind : std::uint8_t { macro, range, dict, make_namespace, raise_exception, strftime_now, caller };
  Kind kind{};
  const Macro* macro = nullptr;  // null for other kinds than macro
  int caller = 0;                // the caller's index, for the kind caller
};

class Value {
 public:
  using Text = std::shared_ptr<const MarkedText>;
  using List = std::shared_ptr<const ListValue>;
  using Dict = std::shared_ptr<const DictValue>;
  using Loop = std::shared_ptr<LoopState>;
  using Method = std::shared_ptr<const BoundMethod>;

  Value() : value_(Undefined{}) {}
  explicit Value(Undefined undefined) : value_(std::move(undefined)) {}
  explicit Value(std::nullptr_t) : value_(nullptr) {}
  explicit Value(bool truth) : value_(truth) {}
  explicit Value(std::int64_t number) : value_(number) {}
  explicit Value(double number) : value_(number) {}
  explicit Value(Namespace* names) : value_(names) {}
  explicit Value(Callable function) : value_(function) {}
  explicit Value(Loop loop) : value_(std::move(loop)) {}
  explicit Value(Method method) : value_(std::move(method)) {}
  explicit Value(MarkedText text) : value_(std::make_shared<const MarkedText>(std::move(text))) {}
  explicit Value(std::string_view text) : Value(MarkedText(text)) {}
  explicit Value(const std::string& text) : Value(std::string_view(text)) {}
  explicit Value(const char* text) : Value(std::string_view(text)) {}
  /// Returns an integer. `digits` are decimal, with '-' before those of a negative integer.
  static Value integer_of(std::string_view digits);
  static Value safe(MarkedText text);
  /// Make a list or a dict. Throw TemplateError for values that are nested too deeply or are too large. `printed` is the text of a range,
  /// or the name of the filter that returns a generator.
  static Value list(std::vector<Value> items, ListKind kind = ListKind::list, std::string printed = "");
  static Value dict(std::vector<std::pair<Value, Value>> items);
  /// Returns a value of JSON, whose texts are marked with `origin`.
  static Value from_json(const nlohmann::ordered_json& json, Origin origin);

  template <class T>
  const T* as() const {
    return std::get_if<T>(&value_);
  }
  bool is_undefined() const { return as<Undefined>() != nullptr; }
  bool is_none() const { return as<std::nullptr_t>() != nullptr; }
  /// Returns the value as a text, list, dict, namespace, loop or method; nullptr if it is not one.
  const MarkedText* text() const { return as<SafeText>() ? as<SafeText>()->text.get() : pointee<Text>(); }
  const ListValue* list() const { return pointee<List>(); }
  const DictValue* dict() const { return pointee<Dict>(); }
  Namespace* names() const { return as<Namespace*>() ? *as<Namespace*>() : nullptr; }
  LoopState* loop() const { return pointee<Loop>(); }
  const BoundMethod* method() const { return pointee<Method>(); }
  bool is_safe() const { return as<SafeText>() != nullptr; }
  bool is(ListKind kind) const;
  /// Returns whether the value is one of Python's integers, which True and False are, too. is_integer() is for those of 64 bits.
  bool is_integer() const { return as<std::int64_t>() || as<bool>(); }
  bool is_whole() const { return is_integer() || as<LargeInteger>(); }
  bool is_number() const { return is_whole() || as<double>(); }
  /// Return the value of an integer of 64 bits, the digits of an integer, and the value of a number, rounded for a large integer.
  std::int64_t integer() const { return as<bool>() ? std::int64_t{*as<bool>()} : *as<std::int64_t>(); }
  std::string digits() const;
  double real() const;

  /// Returns Python's name of the value's type, for errors: "str", "int", "dict".
  std::string_view type_name() const;
  /// Returns roughly the work of one operation on the value, without nested values.
  std::size_t size() const;
  /// Returns size() with nested values.
  std::size_t weight() const;
  int levels() const;

 private:
  template <class T>
  auto pointee() const -> decltype(std::declval<T>().get()) {
    return as<T>() ? as<T>()->get() : nullptr;
  }

  std::variant<Undefined, std::nullptr_t, bool, std::int64_t, LargeInteger, double, Text, SafeText, List, Dict, Namespace*, Callable, Loop,
               Method>
      value_;
};

/// A method of a value that is not called at once: {% set f = text.upper %}.
struct BoundMethod {
  Value object{};
  std::string name{};
};

struct ListValue {
  std::vector<Value> items{};
  ListKind kind = ListKind::list;
  std::string printed{};         // see Value::list()
  int levels = 1;                // levels of nested lists and dicts, itself included
  std::size_t weight = 0;        // about the number of values in it and the bytes of its texts
  mutable bool is_used = false;  // whether a generator was used
};

using DictItems = std::vector<std::pair<Value, Value>>;

/// A dict, in the order of insertion.
struct DictValue {
  DictItems items{};
  int levels = 1;
  std::size_t weight = 0;

  /// Return the value of a key; nullptr if there is none.
  const Value* find(std::string_view key) const;
  const Value* find(const Value& key) const;
};

/// Sets the value of a key. A key that is there moves to the end.
void set_item(DictItems& items, std::string_view key, Value value);

/// The attributes of namespace(), which {% set ns.name = value %} changes.
struct Namespace {
  std::vector<std::pair<std::string, Value>> items{};
};

/// Throws TemplateError for more items than a list may have.
void check_item_count(std::size_t count);
/// Throws TemplateError for a value that cannot be the key of a dict.
void require_key(const Value& key);

// Python's operations. They throw TemplateError where Python raises an exception.

bool is_true(const Value& value);
bool equal(const Value& a, const Value& b);
/// Returns a negative number, 0 or a positive one, as a < b, a == b or a > b.
int compare(const Value& a, const Value& b);
/// Returns whether a text, list or dict contains an item.
bool contains(const Value& container, const Value& item);
/// Returns the values of a loop over the value: characters, items or keys. A generator can be used once: a second use is an error, because
/// it is empty in Jinja.
std::vector<Value> items_of(const Value& value);
std::int64_t length(const Value& value);
/// Returns the item with an index or a key; undefined if there is none. subscript() (attributes.h) also finds methods.
Value item(const Value& container, const Value& key);
/// Returns container[begin:end:step]. Each bound is an integer or None.
Value slice(const Value& container, const Value& begin, const Value& end, const Value& step);

/// Returns str(value): the text that {{ value }} prints.
MarkedText to_text(const Value& value);
/// Returns repr(value), in which texts are quoted.
MarkedText representation(const Value& value);

}  // namespace dikkat::jinja
