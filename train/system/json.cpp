#include "train/system/json.h"

#include <algorithm>
#include <type_traits>
#include <vector>

#include <nlohmann/json.hpp>

#include "train/system/placeholder.h"

namespace dikkat {
namespace {

using nlohmann::json;

/// Throws JsonError for a text that exceeds the limits. A text that is not JSON counts up to its first error, as the parser reads it.
void require_within(std::string_view text, const JsonLimits& limits) {
  const auto check = [](bool ok, const auto&... parts) {
    if (!ok) [[unlikely]] {
      throw JsonError(concat(parts...));
    }
  };
  check(text.size() <= limits.bytes, "has ", text.size(), " bytes, expected at most ", limits.bytes);
  int level = 0;
  std::size_t values = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    switch (text[i]) {
      case '[':
      case '{': check(++level <= limits.levels, "is nested more than ", limits.levels, " levels deep"); [[fallthrough]];
      case ',': check(++values <= limits.values, "has more than ", limits.values, " values"); break;
      case ']':
      case '}': --level; break;
      case '"':
        for (++i; i < text.size() && text[i] != '"'; ++i) {
          i += text[i] == '\\' ? 1U : 0U;
        }
        break;
      default: break;
    }
  }
}

/// Returns the problem in the library's message "... syntax error while parsing value - WHAT; last read: 'TEXT'; expected Y". Leaves out
/// the text, which may be long.
std::string problem_of(const json::parse_error& error) {
  std::string what = error.what();
  constexpr std::string_view kBefore = " - ", kText = "; last read: '", kExpected = "'; expected ";
  what.erase(0, std::min(what.find(kBefore), what.size() - kBefore.size()) + kBefore.size());
  if (const std::size_t text = what.find(kText); text != std::string::npos) {
    const std::size_t expected = what.rfind(kExpected);
    what.erase(text, expected == std::string::npos || expected < text ? std::string::npos : expected + 1 - text);
  }
  return what;
}

/// Passes the library's events to a JsonWalker. The library requires these names.
class Events {
 public:
  explicit Events(JsonWalker& walker) : walker_(walker) {}

  std::size_t bad_byte = 0;

  bool null() { return pass(&JsonWalker::on_other); }
  bool boolean(bool /*value*/) { return pass(&JsonWalker::on_other); }
  bool number_integer(std::int64_t /*negative*/) { return pass(&JsonWalker::on_number, std::nullopt); }
  bool number_unsigned(std::uint64_t value) { return pass(&JsonWalker::on_number, value); }
  bool number_float(double /*value*/, const std::string& /*text*/) { return pass(&JsonWalker::on_number, std::nullopt); }
  bool binary(const std::vector<std::uint8_t>& /*value*/) { return pass(&JsonWalker::on_other); }
  bool string(const std::string& text) { return pass(&JsonWalker::on_text, text); }
  bool key(const std::string& text) { return pass(&JsonWalker::on_key, text); }
  bool start_object(std::size_t /*unknown*/) { return pass(&JsonWalker::on_object); }
  bool end_object() { return pass(&JsonWalker::on_object_end); }
  bool start_array(std::size_t /*unknown*/) { return pass(&JsonWalker::on_array); }
  bool end_array() { return pass(&JsonWalker::on_array_end); }
  bool parse_error(std::size_t position, const std::string& /*token*/, const json::exception& /*error*/) {
    bad_byte = std::max<std::size_t>(position, 1);
    return false;
  }

 private:
  template <class Event, class... Parts>
  bool pass(Event event, const Parts&... parts) {
    (walker_.*event)(parts...);
    return true;
  }

  JsonWalker& walker_;
};

/// Returns an empty object with room for that many fields. A growing object copies its fields, because their names are constant. Destroying
/// the old ones takes memory, which may have run out.
nlohmann::ordered_json::object_t room_for(std::size_t fields) {
  nlohmann::ordered_json::object_t object;
  object.reserve(fields);
  return object;
}

/// Builds a value from the library's events, which must be those of a JSON text. Integers that need more than 64 bits keep their digits. An
/// object is made at its end, when its size is known.
class ExactBuilder {
 public:
  using Json = nlohmann::ordered_json;

  Json take() { return std::move(root_); }

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(std::int64_t value) { return add(value); }
  bool number_unsigned(std::uint64_t value) { return add(value); }
  bool number_float(double value, const std::string& text) {
    const bool is_integer = text.find_first_of(".eE") == std::string::npos;
    return add(is_integer ? Json::binary({text.begin(), text.end()}) : Json(value));
  }
  bool binary(Json::binary_t& value) { return add(std::move(value)); }
  bool string(std::string& text) { return add(std::move(text)); }
  bool start_object(std::size_t /*unknown*/) { return open(true); }
  bool start_array(std::size_t /*unknown*/) { return open(false); }
  bool key(std::string& text) {
    Container& object = open_.back();
    const auto same = std::ranges::find(object.names, text);
    object.place = static_cast<std::size_t>(same - object.names.begin());
    if (same == object.names.end()) {
      object.names.push_back(std::move(text));
      object.values.emplace_back();
    }
    return true;
  }
  bool end_object() {
    Container complete = close();
    Json::object_t fields = room_for(complete.names.size());
    for (std::size_t i = 0; i < complete.names.size(); ++i) {
      fields.emplace_back(std::move(complete.names[i]), std::move(complete.values[i]));
    }
    return add(std::move(fields));
  }
  bool end_array() { return add(close().values); }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/, const json::exception& /*error*/) { return false; }

 private:
  /// An object or array whose end has not been read.
  struct Container {
    bool is_object = false;
    std::vector<std::string> names{};  // the names of an object's values
    Json::array_t values{};
    std::size_t place = 0;  // the place of the name that was read last
  };

  bool add(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (Container& container = open_.back(); container.is_object) {
      container.values[container.place] = std::move(value);
    } else {
      container.values.push_back(std::move(value));
    }
    return true;
  }
  bool open(bool is_object) {
    open_.push_back({.is_object = is_object});
    return true;
  }
  Container close() {
    Container complete = std::move(open_.back());
    open_.pop_back();
    return complete;
  }

  Json root_;
  std::vector<Container> open_;
};

template <class Json>
bool has_large_integer(const Json& value) {
  return value.is_binary() || (value.is_structured() && std::ranges::any_of(value, [](const auto& one) { return has_large_integer(one); }));
}

template <class Json>
std::string plain_text(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

/// Appends the text of a value that is nested `level` deep, in the library's form.
template <class Json>
void append_exact(std::string& out, const Json& value, int indent, int level) {
  if (value.is_binary()) {
    out += *integer_digits(value);
    return;
  }
  if (!value.is_structured() || value.empty()) {
    out += plain_text(value, indent);
    return;
  }
  const auto start_line = [&](int levels) {
    if (indent >= 0) {
      out += '\n';
      out.append(static_cast<std::size_t>(indent) * static_cast<std::size_t>(levels), ' ');
    }
  };
  out += value.is_object() ? '{' : '[';
  for (auto at = value.begin(); at != value.end(); ++at) {
    out += at == value.begin() ? "" : ",";
    start_line(level + 1);
    if (value.is_object()) {
      append_to(out, concat(plain_text(Json(at.key()), -1), indent >= 0 ? ": " : ":"));
    }
    append_exact(out, *at, indent, level + 1);
  }
  start_line(level);
  out += value.is_object() ? '}' : ']';
}

template <class Json>
std::string text_of(const Json& value, int indent) {
  if (!has_large_integer(value)) {
    return plain_text(value, indent);
  }
  std::string text;
  append_exact(text, value, indent, 0);
  return text;
}

template <class Json>
bool is_deeper(const Json& value, int levels) {
  return value.is_structured() && (levels == 0 || std::ranges::any_of(value, [&](const auto& one) { return is_deeper(one, levels - 1); }));
}

}  // namespace

template <class Json>
Json parse_json(std::string_view text, const JsonLimits& limits) {
  require_within(text, limits);
  const auto wrong = [](std::size_t byte, const std::string& problem) {
    return JsonError(concat("is not valid JSON at byte ", byte, ": ", problem), byte, problem);
  };
  if (text.empty()) {  // the library's message differs between its releases
    throw wrong(1, "unexpected end of input; expected '[', '{', or a literal");
  }
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {  // the library takes it for the end of the text
    throw wrong(nul + 1, "unexpected NUL; expected other characters");
  }
  try {
    if constexpr (std::is_same_v<Json, nlohmann::ordered_json>) {
      if (ExactBuilder builder; json::sax_parse(text.begin(), text.end(), &builder)) {
        return builder.take();
      }
    }
    return Json::parse(text);  // throws an error with the problem, if that is known
  } catch (const json::parse_error& error) {
    throw wrong(std::clamp<std::size_t>(error.byte, 1, text.size() + 1), problem_of(error));
  } catch (const json::out_of_range&) {
    throw JsonError("has a number that is too large for an f64, whose limit is 1.8e308");
  }
}
template json parse_json(std::string_view, const JsonLimits&);
template nlohmann::ordered_json parse_json(std::string_view, const JsonLimits&);

namespace {

/// Frees the innermost parts first, so that no container is destroyed with parts in it.
template <class Json>
void free_parts(Json& value) {
  if (value.is_structured()) {
    for (Json& part : value) {
      free_parts(part);
    }
    value.clear();
  }
}

}  // namespace

template <class Json>
PartsFreer<Json>::~PartsFreer() {
  free_parts(value_);
}
template class PartsFreer<json>;
template class PartsFreer<nlohmann::ordered_json>;

void add_field(nlohmann::ordered_json& object, std::string name, nlohmann::ordered_json value) {
  auto& fields = object.get_ref<nlohmann::ordered_json::object_t&>();
  auto larger = room_for(fields.size() + 1);
  for (auto& [old_name, old_value] : fields) {
    larger.emplace_back(old_name, std::move(old_value));
  }
  larger.emplace_back(std::move(name), std::move(value));
  fields = std::move(larger);
}

std::optional<json> try_json(std::string_view text, const JsonLimits& limits) {
  try {
    return parse_json(text, limits);
  } catch (const JsonError&) {
    return std::nullopt;
  }
}

json parse_json_object(std::string_view text, const std::string& name, std::string_view expected, const JsonLimits& limits) {
  require_no_placeholder(text, name);
  json object;
  try {
    object = parse_json(text, limits);
  } catch (const JsonError& error) {
    require_input(error.byte > 0, name, ' ', error.what(), ", expected ", expected);
    const bool is_truncated = error.byte > text.size();
    fail_input(name, " is not a JSON object, expected ", expected,
               is_truncated ? concat("; it is truncated after byte ", text.size()) : concat("; the error is near byte ", error.byte));
  }
  require_input(object.is_object(), name, " is a JSON ", object.type_name(), ", not a JSON object, expected ", expected);
  return object;
}

std::size_t walk_json(std::string_view text, JsonWalker& walker, bool strict) {
  Events events(walker);
  json::sax_parse(text.begin(), text.end(), &events, json::input_format_t::json, strict);
  return events.bad_byte;
}

std::string json_text(const json& value, int indent) { return text_of(value, indent); }
std::string json_text(const nlohmann::ordered_json& value, int indent) { return text_of(value, indent); }

template <class Json>
std::optional<std::string> integer_digits(const Json& value) {
  if (value.is_binary()) {
    return std::string(value.get_binary().begin(), value.get_binary().end());
  }
  return value.is_number_integer() ? std::optional(value.dump()) : std::nullopt;
}

template <class Json>
const char* json_type(const Json& value) {
  return value.is_binary() ? "number" : value.type_name();
}

template <class Json>
std::string short_text(const Json& value) {
  constexpr int kMostLevels = 8;
  constexpr std::size_t kMost = 60;
  if (is_deeper(value, kMostLevels)) {
    return concat("a JSON ", json_type(value));
  }
  std::string text = json_text(value);
  if (text.size() <= kMost) {
    return text;
  }
  std::size_t end = kMost;
  while ((static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) {  // a byte in the middle of a character
    --end;
  }
  text.resize(end);
  return text + " ...";
}

template <class Json>
const Json* find_value(const Json& object, std::string_view key) {
  const auto at = object.find(key);
  return at == object.end() || at->is_null() ? nullptr : &*at;
}

template <class Json>
bool is_nothing(const Json& value) {
  return value.is_null() || value == false || value == "" || (value.is_structured() && value.empty());
}

template std::optional<std::string> integer_digits(const json&);
template const char* json_type(const json&);
template std::string short_text(const json&);
template const json* find_value(const json&, std::string_view);
template bool is_nothing(const json&);
template std::optional<std::string> integer_digits(const nlohmann::ordered_json&);
template const char* json_type(const nlohmann::ordered_json&);
template std::string short_text(const nlohmann::ordered_json&);
template const nlohmann::ordered_json* find_value(const nlohmann::ordered_json&, std::string_view);
template bool is_nothing(const nlohmann::ordered_json&);

}  // namespace dikkat
