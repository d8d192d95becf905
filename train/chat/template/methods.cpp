#include <algorithm>
#include <iterator>

#include "train/chat/template/builtins.h"
#include "train/chat/template/text_methods.h"

namespace dikkat::jinja {
namespace {

// Those that change a dict are errors, as in Jinja's sandbox.
constexpr std::string_view kDictMethods[] = {"clear", "copy",    "fromkeys",   "get",    "items", "keys",
                                             "pop",   "popitem", "setdefault", "update", "values"};

Value call_dict_method(const DictValue& dict, std::string_view name, Arguments& arguments) {
  if (name == "get") {
    const Value key = arguments.need("key");
    const std::optional<Value> otherwise = arguments.take("default");
    const Value* const found = key.text() ? dict.find(key.text()->bytes()) : nullptr;
    return found ? *found : otherwise ? *otherwise : Value(nullptr);
  }
  std::vector<Value> items;
  for (const auto& [key, value] : dict.items) {
    if (name == "keys") {
      items.emplace_back(key);
    } else if (name == "values") {
      items.push_back(value);
    } else if (name == "items") {
      items.push_back(Value::list({Value(key), value}, true));
    } else {
      break;
    }
  }
  if (name != "keys" && name != "values" && name != "items") {
    fail_template("calls the method ", name, " of a dict, which is not supported");
  }
  return Value::list(std::move(items));
}

Value call_list_method(const ListValue& list, std::string_view name, Arguments& arguments) {
  if (name != "index" && name != "count") {
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

bool is_dict_method(std::string_view name) { return std::binary_search(std::begin(kDictMethods), std::end(kDictMethods), name); }

Value call_method(const Value& object, std::string_view name, Arguments& arguments) {
  Value result;
  if (object.text()) {
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
