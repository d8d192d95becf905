#include "train/chat/template/attributes.h"

#include <algorithm>
#include <optional>
#include <span>

#include "train/chat/template/loop_state.h"
#include "train/chat/template/syntax.h"
#include "train/chat/template/template_error.h"

namespace dikkat::jinja {
namespace {

using Names = std::span<const std::string_view>;

constexpr std::string_view kOfText[] = {
    "capitalize",   "casefold", "center",   "count",   "encode",    "endswith",   "expandtabs",   "find",      "format",    "format_map",
    "index",        "isalnum",  "isalpha",  "isascii", "isdecimal", "isdigit",    "isidentifier", "islower",   "isnumeric", "isprintable",
    "isspace",      "istitle",  "isupper",  "join",    "ljust",     "lower",      "lstrip",       "maketrans", "partition", "removeprefix",
    "removesuffix", "replace",  "rfind",    "rindex",  "rjust",     "rpartition", "rsplit",       "rstrip",    "split",     "splitlines",
    "startswith",   "strip",    "swapcase", "title",   "translate", "upper",      "zfill"};
constexpr std::string_view kOfList[] = {"append", "clear", "copy",   "count",   "extend", "index",
                                        "insert", "pop",   "remove", "reverse", "sort"};
constexpr std::string_view kOfTuple[] = {"count", "index"};
constexpr std::string_view kOfRange[] = {"count", "index", "start", "step", "stop"};
constexpr std::string_view kOfView[] = {"isdisjoint", "mapping"};
constexpr std::string_view kOfGenerator[] = {"close", "send", "throw"};
constexpr std::string_view kOfDict[] = {"clear", "copy",    "fromkeys",   "get",    "items", "keys",
                                        "pop",   "popitem", "setdefault", "update", "values"};
constexpr std::string_view kOfInteger[] = {"as_integer_ratio", "bit_count", "bit_length", "conjugate", "denominator",
                                           "from_bytes",       "imag",      "numerator",  "real",      "to_bytes"};
constexpr std::string_view kOfReal[] = {"as_integer_ratio", "conjugate", "fromhex", "hex", "imag", "is_integer", "real"};
constexpr std::string_view kOfLoop[] = {"changed", "cycle"};
// Attributes that are not methods, and are not supported.
constexpr std::string_view kPlain[] = {"denominator", "imag", "mapping", "numerator", "real", "start", "step", "stop"};
constexpr std::string_view kChangeList[] = {"append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"};
constexpr std::string_view kChangeDict[] = {"clear", "pop", "popitem", "setdefault", "update"};

bool has(Names names, std::string_view name) { return std::ranges::find(names, name) != names.end(); }

Names attributes_of(const Value& object) {
  if (const ListValue* list = object.list()) {
    switch (list->kind) {
      case ListKind::list: return kOfList;
      case ListKind::tuple: return kOfTuple;
      case ListKind::range: return kOfRange;
      case ListKind::values: return std::span(kOfView).subspan(1);
      case ListKind::keys:
      case ListKind::items: return kOfView;
      case ListKind::generator: return kOfGenerator;
    }
  }
  return object.text()        ? Names(kOfText)
         : object.dict()      ? Names(kOfDict)
         : object.is_whole()  ? Names(kOfInteger)
         : object.is_number() ? Names(kOfReal)
         : object.loop()      ? Names(kOfLoop)
                              : Names();
}

Value undefined(std::string name) { return Value(Undefined{std::make_shared<const std::string>(std::move(name))}); }

/// Returns an attribute of a macro; nullopt if macros have none of this name.
std::optional<Value> macro_attribute(const Macro& macro, std::string_view name) {
  if (name == "name") {
    return Value(macro.name);
  }
  if (name == "arguments") {
    std::vector<Value> names;
    for (const auto& [parameter, otherwise] : macro.signature.parameters) {
      names.emplace_back(parameter);
    }
    return Value::list(std::move(names), ListKind::tuple);
  }
  return name == "caller"          ? std::optional(Value(macro.signature.uses_caller))
         : name == "catch_kwargs"  ? std::optional(Value(macro.signature.uses_kwargs))
         : name == "catch_varargs" ? std::optional(Value(macro.signature.uses_varargs))
                                   : std::nullopt;
}

/// Returns the attribute that Python's type of the value has; nullopt if it has none.
std::optional<Value> own_attribute(const Value& object, std::string_view name) {
  if (object.loop()) {
    if (std::optional<Value> found = loop_attribute(*object.loop(), name)) {
      return found;
    }
  }
  if (const auto* function = object.as<Callable>(); function && function->kind == Callable::Kind::macro) {
    return macro_attribute(*function->macro, name);
  }
  if (name.starts_with("__") && name.ends_with("__")) {
    return undefined(concat("attribute '", name, "' of a ", object.type_name()));  // the sandbox forbids all of them
  }
  if (!has_attribute(object, name)) {
    return std::nullopt;
  }
  if (is_changing_method(object, name)) {
    return undefined(concat("the method ", name, " of a ", object.type_name(), ", which Jinja's sandbox forbids,"));
  }
  if (has(kPlain, name)) {
    fail_template("uses the attribute ", name, " of a ", object.type_name(), ", which is not supported");
  }
  return Value(std::make_shared<const BoundMethod>(BoundMethod{object, std::string(name)}));
}

[[noreturn]] void fail_undefined(const Undefined& undefined, std::string_view asked) {
  fail_template("asks for ", asked, " of ", undefined.name ? *undefined.name : "a value", ", which is undefined");
}

}  // namespace

bool has_attribute(const Value& object, std::string_view name) { return has(attributes_of(object), name); }

bool is_changing_method(const Value& object, std::string_view name) {
  return (object.is(ListKind::list) && has(kChangeList, name)) || (object.dict() && has(kChangeDict, name));
}

Value attribute(const Value& object, std::string_view name) {
  if (const auto* undefined = object.as<Undefined>()) {
    fail_undefined(*undefined, concat(".", name));
  }
  if (std::optional<Value> found = own_attribute(object, name)) {
    return *std::move(found);
  }
  if (object.dict() || object.names()) {
    return item(object, Value(name));
  }
  return undefined(concat("attribute '", name, "' of a ", object.type_name()));
}

Value subscript(const Value& object, const Value& key) {
  Value found = item(object, key);
  if (found.is_undefined() && key.text() && !(object.dict() && object.dict()->find(key)) && !object.names()) {
    if (std::optional<Value> own = own_attribute(object, key.text()->bytes())) {
      return *std::move(own);
    }
  }
  return found;
}

}  // namespace dikkat::jinja
