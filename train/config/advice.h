#pragma once

#include <string>
#include <string_view>

namespace dikkat::schema {

struct Table;

/// Returns the key that was probably meant, as "section.name"; empty if no key is similar. Keys of `section` are preferred.
std::string nearest_key(std::string_view section, std::string_view name);

/// Returns whether only older versions had this key. It is ignored if its value is an empty string, and in the configuration of a run;
/// otherwise it is refused.
bool is_retired(std::string_view section, std::string_view name);

/// Returns a sentence on a key that the schema does not have: the nearest key, or what to do instead of a retired one. `section` is empty
/// for a key outside of all sections.
std::string unknown_key(std::string_view section, std::string_view name);
/// Returns a sentence on a key that the tables of a list do not have.
std::string unknown_key(const Table& list, std::string_view name);
/// Returns a sentence on a section that the schema does not have.
std::string unknown_section(std::string_view name);

}  // namespace dikkat::schema
