#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace dikkat {

/// A form in which models write the arguments of a call, which are a JSON object. Without tags it is an object, {NAME:VALUE,NAME:VALUE}.
/// With tags, each argument is name_begin + NAME + name_end + VALUE + value_end, and `close` follows the last one. There, a string is any
/// text without the end of a value, and other values are JSON.
struct JsonForm {
  using Word = std::pair<std::string_view, std::string_view>;  // for true, false or null, and JSON's word

  std::string_view quote{};         // around strings, which have no escapes; names have no quotes. Empty: strings and names are JSON's
  std::array<Word, 3> words{};      // within tags, only for values that are not part of another one
  std::string_view not_in_names{};  // characters that names without quotes cannot have
  bool sorts_names = false;         // names come in alphabetical order, because templates sort them, otherwise in the schema's
  std::string_view name_begin{}, name_end{}, value_end{}, close{};  // empty without tags

  bool has_tags() const { return !close.empty(); }
  bool is_json() const { return quote.empty() && !has_tags(); }
  /// Returns the text that ends a value, which no string between tags has: value_end without white space at its end.
  std::string_view end_of_value() const { return value_end.substr(0, value_end.find_last_not_of(" \t\n\r") + 1); }
  bool can_write_name(std::string_view name) const {
    return is_json() || (!name.empty() && name.find_first_of(not_in_names) == std::string_view::npos);
  }
  /// Returns JSON's word for a text; the text itself if it is not a word of the form.
  std::string_view json_word(std::string_view text) const {
    const auto* const word = std::ranges::find(words, text, &Word::first);
    return word == words.end() || text.empty() ? text : word->second;
  }

  bool operator==(const JsonForm&) const = default;
};

/// The types that the arguments of a call may have, by name, as bits of SchemaType (train/grammar/schema_place.h). Others have the name "".
using ArgumentTypes = std::map<std::string, unsigned>;

/// The known forms. A new form needs only an entry here.
inline constexpr JsonForm kJsonForms[] = {
    {},                                                                                                             // JSON
    {.quote = "<escape>", .words = {{{"None", "null"}}}, .not_in_names = " \t\n\r:,{}[]<\"", .sorts_names = true},  // FunctionGemma
    {.quote = "<|\"|>", .words = {{{"None", "null"}}}, .not_in_names = " \t\n\r:,{}[]<\"", .sorts_names = true},    // Gemma 4
    {.words = {{{"True", "true"}, {"False", "false"}, {"None", "null"}}},
     .not_in_names = "\n\r<>",  // Qwen3-Coder, Qwen 3.5
     .name_begin = "<parameter=",
     .name_end = ">\n",
     .value_end = "\n</parameter>\n",
     .close = "</function>"},
};

}  // namespace dikkat
