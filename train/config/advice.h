#pragma once

#include <string>
#include <string_view>

namespace dikkat::schema {

struct Table;

/// The key that was probably meant, as "section.name"; empty if none is near. Keys of `section` come first.
std::string nearest_key(std::string_view section, std::string_view name);

/// The sentence that answers a key which the schema lacks; section is empty for a key outside of all sections.
std::string unknown_key(std::string_view section, std::string_view name);
/// The same for a key of the tables in a list.
std::string unknown_key(const Table& list, std::string_view name);
/// The sentence that answers a section which the schema lacks.
std::string unknown_section(std::string_view name);

}  // namespace dikkat::schema
