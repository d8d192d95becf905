#pragma once

#include <span>
#include <string>
#include <string_view>

namespace dikkat::schema {

struct Table;

/// Edits (a letter more, less or other, or two neighbours swapped) that turn one word into the other.
int edit_distance(std::string_view a, std::string_view b);
/// The word that was probably meant; empty if none is near. Case, underscores and hyphens count for nothing.
std::string_view nearest_word(std::span<const std::string_view> words, std::string_view word);
/// The key that was probably meant, as "section.name"; empty if none is near. Keys of `section` come first.
std::string nearest_key(std::string_view section, std::string_view name);

/// The sentence that answers a key which the schema lacks; section is empty for a key outside of all sections.
std::string unknown_key(std::string_view section, std::string_view name);
/// The same for a key of the tables in a list.
std::string unknown_key(const Table& list, std::string_view name);
/// The sentence that answers a section which the schema lacks.
std::string unknown_section(std::string_view name);

}  // namespace dikkat::schema
