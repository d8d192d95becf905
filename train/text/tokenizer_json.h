#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

/// For the sources of this box only: how the JSON text of a tokenizer is read. It may come from a file of any origin.
namespace dikkat {

/// The object that the text holds. Throws InputError for text that is not JSON or holds no object.
nlohmann::json parse_tokenizer(std::string_view text);
/// Throws InputError unless the object has exactly these fields: one that this program does not know may change what tokens mean.
void require_fields(const nlohmann::json& object, std::initializer_list<std::string_view> names);
/// Throws InputError unless the field is there and holds a string.
std::string string_field(const nlohmann::json& object, const char* name);
/// Throws InputError unless the field is there and holds an array of strings.
std::vector<std::string> strings_field(const nlohmann::json& object, const char* name);

}  // namespace dikkat
