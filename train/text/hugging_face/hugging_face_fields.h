#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

/// Reads and checks the fields of a tokenizer.json. In these functions `where` is the path of a field in the file, for messages. This
/// header is private to its folder.
namespace dikkat::hugging_face {

using nlohmann::json;

/// Returns the text of a value for a message, cut if it is long.
std::string shown(const json& value);

/// Throws InputError for the field at `where`.
[[noreturn]] void refuse(const std::string& where, const json& value, std::string_view expected);

/// Returns the field, or null if it is missing.
const json& field(const json& object, std::string_view name);

/// Returns the path of a field within an object.
std::string in(const std::string& where, std::string_view name);

/// Throws InputError for an unknown field, which may change ids, unless its value is empty.
void require_known(const json& object, const std::string& where, std::initializer_list<std::string_view> names);

bool flag(const json& object, const std::string& where, const char* name, bool by_default);
void require_flag(const json& object, const std::string& where, const char* name, bool expected);

/// Returns a field that must be a string.
std::string text(const json& object, const std::string& where, const char* name);

/// Returns the field "type" of an object, or the value itself if it is a string; otherwise "".
std::string type_of(const json& object);

/// Returns the steps of a "Sequence", whose field `name` has them, or the only step. Null has no steps.
std::vector<json> steps_of(const json& step, const std::string& where, const char* name);

}  // namespace dikkat::hugging_face
