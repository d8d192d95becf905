#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json_fwd.hpp>

#include "autograd/base/error.h"

// Reading and writing of JSON. The library's parser has no limits, and its other functions recurse, so all texts from outside are parsed
// here.
namespace dikkat {

/// Limits of a JSON text. The default is for lines of JSONL, tokenizers and this program's own files, whose readers limit the bytes.
struct JsonLimits {
  std::size_t bytes = std::string_view::npos;
  int levels = 100;                           // nested objects and arrays, which use the stack
  std::size_t values = std::size_t{1} << 24;  // counted as commas and brackets; a value takes up to 100 bytes of memory
};
/// Limits of a configuration of another program.
inline constexpr JsonLimits kConfigLimits{.bytes = std::size_t{1} << 20, .levels = 32, .values = std::size_t{1} << 20};

/// Thrown for a text that is not JSON or exceeds a limit. The message continues the name of the text: "is nested more than 32 levels deep".
class JsonError : public InputError {
 public:
  explicit JsonError(const std::string& message, std::size_t at = 0, std::string what_is_wrong = "")
      : InputError(message), byte(at), problem(std::move(what_is_wrong)) {}

  std::size_t byte;     // where the text is not JSON, counted from 1; beyond its end if it is truncated; 0 for other errors
  std::string problem;  // "unexpected '}'; expected string literal"; empty for other errors
};

/// Parses a text as nlohmann::json, or as nlohmann::ordered_json. The latter is for texts that are passed on: it keeps the order of fields,
/// and the digits of large integers (integer_digits()). nlohmann::json rounds these to an f64. Throws JsonError.
template <class Json = nlohmann::json>
Json parse_json(std::string_view text, const JsonLimits& limits = {});

/// Frees the parts of a value at the end of a scope. The library's destructor allocates a list of them, and ends the program if memory is
/// out. So a server declares this after each value that a client can make large.
template <class Json>
class PartsFreer {
 public:
  explicit PartsFreer(Json& value) : value_(value) {}
  PartsFreer(const PartsFreer&) = delete;
  PartsFreer& operator=(const PartsFreer&) = delete;
  ~PartsFreer();

 private:
  Json& value_;
};

/// Adds a field to an object that has none of that name. Unlike object[name], it never copies the other fields, which a client may have
/// made large.
void add_field(nlohmann::ordered_json& object, std::string name, nlohmann::ordered_json value);

/// Parses a text. Returns nullopt where parse_json() throws.
std::optional<nlohmann::json> try_json(std::string_view text, const JsonLimits& limits = {});

/// Parses an object of another program. Throws InputError, which begins with `name`, for other texts and for placeholders of a file that
/// was never downloaded (placeholder.h). `expected` describes the file: "a config.json of Hugging Face".
nlohmann::json parse_json_object(std::string_view text, const std::string& name, std::string_view expected,
                                 const JsonLimits& limits = kConfigLimits);

/// Receives the parts of a JSON text in their order. Nothing is stored, so a hostile text uses no memory and no stack, and a name that
/// occurs twice can be found.
class JsonWalker {
 public:
  virtual ~JsonWalker() = default;

  virtual void on_object() = 0;
  virtual void on_key(std::string_view key) = 0;
  virtual void on_object_end() = 0;
  virtual void on_array() = 0;
  virtual void on_array_end() = 0;
  virtual void on_text(std::string_view text) = 0;
  /// Receives a number; nullopt if it is not an integer from 0 to 2^64 - 1.
  virtual void on_number(std::optional<std::uint64_t> number) = 0;
  /// Receives true, false or null.
  virtual void on_other() = 0;
};

/// Hands the parts of a text to `walker`, up to an error. Returns the byte at which the text is not JSON, as JsonError::byte; 0 if all of
/// it is. Unless `strict`, other bytes may come after the JSON.
std::size_t walk_json(std::string_view text, JsonWalker& walker, bool strict = true);

/// Returns the text of a value, on one line unless `indent` is at least 0. Bytes that are not UTF-8 become U+FFFD, and integers keep their
/// digits.
std::string json_text(const nlohmann::json& value, int indent = -1);
std::string json_text(const nlohmann::ordered_json& value, int indent = -1);

// These are for nlohmann::json and nlohmann::ordered_json.

/// Returns the decimal digits of an integer, with '-' before those of a negative one: "18446744073709551616". Returns nullopt for other
/// values, and for numbers with a fraction or an exponent, such as 1.0. The library has no type for integers that need more than 64 bits.
/// parse_json() keeps their digits as a value of the type "binary", which is_number() does not accept.
template <class Json>
std::optional<std::string> integer_digits(const Json& value);

/// Returns the name of a value's type for messages: "number", "object".
template <class Json>
const char* json_type(const Json& value);

/// Returns a value for a message, cut if it is long. Deeply nested values become "a JSON array" or "a JSON object".
template <class Json>
std::string short_text(const Json& value);

/// Returns the value of a key; nullptr if it is missing or null.
template <class Json>
const Json* find_value(const Json& object, std::string_view key);

/// Returns whether a value is null, false, "", [] or {}: such a field usually means the same as a missing one.
template <class Json>
bool is_nothing(const Json& value);

}  // namespace dikkat
