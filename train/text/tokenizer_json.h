#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

/// Reading of a tokenizer's JSON text, which may come from any file. This header is private to its folder.
namespace dikkat {

/// Parses the text. Throws InputError if it is not a JSON object.
nlohmann::json parse_tokenizer(std::string_view text);
/// Throws InputError unless the object has exactly these fields: an unknown field might change what tokens mean.
void require_fields(const nlohmann::json& object, std::initializer_list<std::string_view> names);
/// Throws InputError unless the field exists and is a string.
std::string string_field(const nlohmann::json& object, const char* name);
/// Throws InputError unless the field exists and is an array of strings.
std::vector<std::string> strings_field(const nlohmann::json& object, const char* name);

}  // namespace dikkat
