#include <algorithm>
#include <iterator>

#include "train/chat/template/builtins.h"
#include "train/chat/template/text_methods.h"

namespace dikkat::jinja {
namespace {

Value call_dict_method(const DictValue& dict, std::string_view name, Arguments& arguments) {
  if (name == "get") {
    const Value key = arguments.need("key");
    const std::optional<Value> otherwise = arguments.take("default");
    const Value* const found = dict.find(key);
    return found ? *found : otherwise ? *otherwise : Value(nullptr);
  }
  if (name == "copy") {
    return Value::dict(dict.items);
  }
  if (name != "keys" && name != "values" && name != "items") {
    fail_template("calls the method ", name, " of a dict, which is not supported");
  }
  std::vector<Value> items;
  for (const auto& [key, value] : dict.items) {
    items.push_back(name == "keys" ? key : name == "values" ? value : Value::list({key, value}, ListKind::tuple));
  }
  return Value::list(std::move(items), name == "keys" ? ListKind::keys : name == "values" ? ListKind::values : ListKind::items);
}

Value call_list_method(const ListValue& list, std::string_view name, Arguments& arguments) {
  if (name == "copy" && list.kind == ListKind::list) {
    return Value::list(list.items);
  }
  if (list.kind > ListKind::range || (name != "index" && name != "count")) {
    fail_template("calls the method ", name, " of a list, which is not supported");
  }
  const Value wanted = arguments.need("value");
  const auto is_wanted = [&](const Value& one) { return equal(one, wanted); };
  if (name == "count") {
    return Value(static_cast<std::int64_t>(std::count_if(list.items.begin(), list.items.end(), is_wanted)));
  }
  const auto found = std::find_if(list.items.begin(), list.items.end(), is_wanted);
  if (found == list.items.end()) {
    fail_template("asks for the index of an item that is not in the list");
  }
  return Value(static_cast<std::int64_t>(found - list.items.begin()));
}

}  // namespace

namespace {

/// Calls a method of a text that is marked as safe. Its result is safe, too.
Value call_safe_method(const MarkedText& text, std::string_view name, Arguments& arguments) {
  const auto is_escaped = [](const Value& argument) {
    return !argument.is_number() && !argument.is_none() && !argument.is_safe() &&
           !(argument.text() && argument.text()->bytes().find_first_of("&<>'\"") == std::string::npos);
  };
  if (name == "format" || arguments.has(is_escaped)) {
    fail_template("calls the method ", name, " of a text that is marked as safe with what Jinja may escape, which is not supported");
  }
  const auto safe = [](const Value& one) { return one.text() ? Value::safe(*one.text()) : one; };
  const Value result = call_text_method(text, name, arguments);
  if (!result.list()) {
    return safe(result);
  }
  std::vector<Value> items;
  std::ranges::transform(result.list()->items, std::back_inserter(items), safe);
  return Value::list(std::move(items), result.list()->kind);
}

}  // namespace

Value call_method(const Value& object, std::string_view name, Arguments& arguments) {
  Value result;
  if (object.is_safe()) {
    result = call_safe_method(*object.text(), name, arguments);
  } else if (object.text()) {
    result = call_text_method(*object.text(), name, arguments);
  } else if (object.dict()) {
    result = call_dict_method(*object.dict(), name, arguments);
  } else if (object.list()) {
    result = call_list_method(*object.list(), name, arguments);
  } else if (const auto* undefined = object.as<Undefined>()) {
    fail_template("calls the method ", name, " of ", undefined->name ? *undefined->name : "a value", ", which is undefined");
  } else {
    fail_template("calls the method ", name, " of ", object.type_name(), ", which has none");
  }
  arguments.end();
  return result;
}

}  // namespace dikkat::jinja
