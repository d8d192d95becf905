#include "train/web/serve/call_scan.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "train/grammar/schema_place.h"
#include "train/system/json.h"

namespace dikkat::serve {
namespace {

using Progress = ScannedCall::Progress;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_open(char c) { return c == '{' || c == '['; }
bool is_close(char c) { return c == '}' || c == ']'; }

std::string quoted_json(std::string_view text) { return json_text(nlohmann::json(std::string(text))); }
/// Returns the content of a string of JSON, as it is written.
std::string_view without_quotes(std::string_view json) { return json.substr(1, json.size() - 2); }

/// Appends bytes to a string of JSON.
void append_to_string(std::string& json, std::string_view bytes) {
  for (const char c : bytes) {
    if (static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\') {
      json += c;
    } else {
      json += without_quotes(quoted_json({&c, 1}));
    }
  }
}

/// Reads the string, list or object at byte `at`, and appends it to `json`. Returns whether it is complete; `at` is then the byte after it.
bool read_value(std::string_view text, std::size_t& at, const JsonForm& form, std::string& json) {
  const bool is_json = form.quote.empty();
  const std::string_view quote = is_json ? "\"" : form.quote;
  int depth = 0;
  bool in_text = false;
  std::string word;  // a number, a word, or a name without quotes
  while (at < text.size()) {
    const std::string_view rest = text.substr(at);
    const char c = rest.front();
    if (rest.starts_with(quote)) {
      json += '"';
      in_text = !in_text;
      at += quote.size();
    } else if (quote.starts_with(rest)) {  // it may become a quote
      return false;
    } else if (in_text && is_json) {
      const std::size_t size = std::min<std::size_t>(c == '\\' ? 2 : 1, rest.size());
      json += rest.substr(0, size);
      at += size;
    } else if (in_text) {
      append_to_string(json, rest.substr(0, 1));
      ++at;
    } else {
      const bool ends_word = is_open(c) || is_close(c) || is_space(c) || c == ':' || c == ',';
      if (ends_word && !word.empty()) {
        json += c == ':' ? quoted_json(word) : std::string(form.json_word(word));
        word.clear();
      }
      (is_json || ends_word ? json : word) += c;
      depth += is_open(c) ? 1 : is_close(c) ? -1 : 0;
      ++at;
    }
    if (depth == 0 && !in_text) {
      return true;
    }
  }
  return false;
}

/// Reads a JSON object with the keys of name and arguments.
void read_object(std::string_view text, const CallFormat& form, const std::vector<std::string>& names, ScannedCall& call) {
  enum class Place { key, value, value_end };  // before a key or a colon, before a value, after a value or in a number or word
  Place place = Place::key;
  std::string key, other;
  for (std::size_t& at = ++call.end; at < text.size() && call.progress == Progress::more;) {
    const char c = text[at];
    const bool is_name = key == form.name_key, is_arguments = key == form.arguments_key;
    const auto move_on = [&](Place next, bool is_right) {
      ++at;
      place = next;
      call.progress = is_close(c) ? Progress::complete : is_right ? Progress::more : Progress::bad;
    };
    if (place == Place::key && c == '"') {
      other.clear();
      if (!read_value(text, at, form.arguments, other)) {
        return;
      }
      key = without_quotes(other);
      const bool is_known = key == form.name_key || key == form.arguments_key || key == "type" || key == "id";
      call.progress = is_known || !form.begin.empty() ? Progress::more : Progress::bad;  // without a mark, an object may be an answer
    } else if (place == Place::key) {
      move_on(c == ':' ? Place::value : Place::key, c == ':' || c == ',' || is_space(c));
    } else if (place == Place::value_end) {
      move_on(c == ',' ? Place::key : Place::value_end, c != '"' && c != ':' && !is_open(c));
    } else if (is_space(c) || c == ':' || c == ',' || is_close(c)) {
      move_on(Place::value, true);
    } else if ((is_name || is_arguments) && c != '"' && (is_name || c != '{')) {
      call.progress = Progress::bad;
    } else if (c != '"' && !is_open(c)) {
      move_on(Place::value_end, true);
    } else {
      std::string& json = is_arguments ? call.arguments : other;
      json.clear();
      if (!read_value(text, at, form.arguments, json)) {
        return;
      }
      place = Place::value_end;
      if (is_name) {
        call.name = without_quotes(json);
        call.progress = std::ranges::find(names, call.name) == names.end() ? Progress::bad : Progress::more;
      }
    }
  }
}

/// Returns the type of the value that a text is in JSON; 0 if it is none, or has white space around it.
unsigned type_of_text(std::string_view text) {
  try {
    return without_space_around(text) == text ? type_of_value(parse_json<nlohmann::ordered_json>(text)) : 0;
  } catch (const JsonError&) {
    return 0;
  }
}

unsigned types_of_argument(const std::string& name, const ArgumentTypes* types) {
  if (types == nullptr) {
    return kAllTypes;
  }
  const auto found = types->contains(name) ? types->find(name) : types->find("");
  return found == types->end() ? +kAllTypes : found->second;
}

/// Appends the value of an argument between tags, or the part of it that has come, to the JSON of the arguments. A value that can only be a
/// string is appended as it comes, and others when they are complete: JSON of one of the other types is this value, and every other text is
/// a string. Returns whether the argument may have this value.
bool append_argument(std::string_view value, bool is_complete, unsigned types, const JsonForm& form, std::string& json) {
  if (types == kString) {
    const std::string_view mark = form.end_of_value();
    std::size_t begun = is_complete ? 0 : std::min(value.size(), mark.size() - 1);  // bytes at the end that may belong to the mark
    while (!mark.starts_with(value.substr(value.size() - begun))) {
      --begun;
    }
    json += '"';
    append_to_string(json, value.substr(0, value.size() - begun));
    json += is_complete ? "\"" : "";
    return true;
  }
  const std::string_view word = form.json_word(value);
  const bool is_other = is_complete && (type_of_text(word) & types & ~kString) != 0;
  json += is_other ? std::string(word) : is_complete ? quoted_json(value) : "";
  return is_other || !is_complete || (types & kString) != 0;
}

/// Reads arguments between tags.
void read_tags(std::string_view text, const JsonForm& form, const ArgumentTypes* types, ScannedCall& call) {
  call.arguments = "{";
  for (std::size_t& at = call.end;;) {
    at = std::min(text.find_first_not_of(" \t\n\r", at), text.size());
    const std::string_view rest = text.substr(at);
    if (rest.starts_with(form.close)) {
      at += form.close.size();
      call.arguments += '}';
      call.progress = Progress::complete;
      return;
    }
    if (!rest.starts_with(form.name_begin)) {
      const bool may_become_one = form.name_begin.starts_with(rest) || form.close.starts_with(rest);
      call.progress = may_become_one ? Progress::more : Progress::bad;
      return;
    }
    const std::size_t begin = at + form.name_begin.size(), name_end = text.find(form.name_end, begin);
    if (name_end == std::string_view::npos) {
      return;
    }
    const std::string name(text.substr(begin, name_end - begin));
    const std::size_t value = name_end + form.name_end.size(), end = text.find(form.end_of_value(), value);
    const bool is_complete = end != std::string_view::npos;
    call.arguments += concat(call.arguments.size() > 1 ? "," : "", quoted_json(name), ':');
    const bool fits = append_argument(text.substr(value, end - value), is_complete, types_of_argument(name, types), form, call.arguments);
    if (!fits || !is_complete) {
      call.progress = fits ? Progress::more : Progress::bad;
      return;
    }
    at = end + form.end_of_value().size();
  }
}

}  // namespace

ScannedCall scan_call(std::string_view text, const CallFormat& form, const std::vector<std::string>& names, const ArgumentTypes* types) {
  ScannedCall call;
  if (form.arguments.has_tags()) {
    read_tags(text, form.arguments, types, call);
  } else if (text.empty() || text.front() != '{') {
    call.progress = text.empty() ? Progress::more : Progress::bad;
  } else if (!form.name_key.empty()) {
    read_object(text, form, names, call);
  } else if (read_value(text, call.end, form.arguments, call.arguments)) {
    call.progress = Progress::complete;
  }
  return call;
}

}  // namespace dikkat::serve
