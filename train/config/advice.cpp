#include "train/config/advice.h"

#include <algorithm>
#include <vector>

#include "autograd/base/error.h"
#include "train/config/foreign_names.h"
#include "train/config/retired_keys.h"
#include "train/config/schema.h"
#include "train/config/tables.h"
#include "train/system/nearest_word.h"

namespace dikkat::schema {
namespace {

std::string shown(std::string_view name) {
  const bool is_bare = !name.empty() && name.size() <= kLongestMisspelling && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
  return is_bare ? std::string(name) : in_quotes(name);
}

/// Returns the sections that have a key of this name, as "[model] or [tokenizer]"; empty if none has.
std::string homes_of(std::string_view name) {
  std::string homes;
  for (const Key& key : keys()) {
    if (key.name == name) {
      homes += concat(homes.empty() ? "" : " or ", '[', key.section, ']');
    }
  }
  return homes;
}

const ForeignName* find_foreign(std::string_view name) {
  const std::string word = plain_word(name);
  const auto names = foreign_names();
  const auto found = std::ranges::find_if(names, [&](const ForeignName& foreign) { return plain_word(foreign.name) == word; });
  return found == names.end() ? nullptr : &*found;
}

std::string list_of_sections() {
  std::string list;
  for (const std::string_view section : sections()) {
    list += concat(list.empty() ? "" : ", ", '[', section, ']');
  }
  return list;
}

std::string list_of_keys(std::string_view section) {
  std::string list;
  for (const Key& key : keys()) {
    if (key.section == section) {
      list += concat(list.empty() ? "" : ", ", key.name);
    }
  }
  return list;
}

}  // namespace

std::string nearest_key(std::string_view section, std::string_view name) {
  if (name.size() > kLongestMisspelling) {
    return "";
  }
  std::pair least(kUnlike, 0);
  std::string nearest;
  for (const Key& key : keys()) {
    // Underscores decide between equally similar keys, such as "n_head" and "n_kv_head" for "n_v_head".
    const std::pair distance(2 * unlikeness(key.name, name) + (key.section == section ? 0 : 1), edit_distance(key.name, name));
    if (distance < least) {
      least = distance;
      nearest = key.path();
    }
  }
  return nearest;
}

std::string unknown_key(std::string_view section, std::string_view name) {
  if (const RetiredKey* retired = find_retired_key(section, name)) {
    return concat(section, '.', name, " is no longer a key; ", retired->advice);
  }
  if (const std::string homes = homes_of(name); !homes.empty()) {
    return concat(name, " belongs in ", homes,
                  section.empty() ? ", not outside of the sections" : concat(", not in [", shown(section), ']'));
  }
  if (const ForeignName* foreign = find_foreign(name)) {
    const std::string owner = concat(shown(name), " is ", foreign->whose, " name; ");
    if (foreign->ours.empty()) {
      return concat(owner, "dikkat has no such key: ", foreign->note);
    }
    return concat(owner, "here it is ", foreign->ours, foreign->note.empty() ? "" : concat(" (", foreign->note, ")"));
  }
  const std::string path = section.empty() ? shown(name) : concat(shown(section), '.', shown(name));
  if (find_table(section, name) != nullptr) {
    return concat(path, " is a list of tables: give it in the file, as [[", path, "]]");
  }
  if (const std::string nearest = nearest_key(section, name); !nearest.empty()) {
    return concat("unknown key ", path, "; did you mean ", nearest, "?");
  }
  if (is_section(section)) {
    return concat("unknown key ", path, "; the keys of [", section, "] are ", list_of_keys(section));
  }
  return concat("unknown key ", path, "; a key is in one of the sections ", list_of_sections());
}

std::string unknown_key(const Table& list, std::string_view name) {
  std::vector<std::string_view> names;
  std::string all;
  for (const TableKey& key : list.keys) {
    names.push_back(key.name);
    all += concat(all.empty() ? "" : key.name == list.keys.back().name ? " and " : ", ", key.name);
  }
  const std::string_view nearest = nearest_word(names, name);
  return concat("a ", list.one, " of ", list.path(), " has no key ", shown(name),
                nearest.empty() ? concat("; it has ", all) : concat("; did you mean ", nearest, '?'));
}

std::string unknown_section(std::string_view name) {
  const std::string_view nearest = nearest_word(sections(), name);
  if (!nearest.empty()) {
    return concat("unknown section [", shown(name), "]; did you mean [", nearest, "]?");
  }
  return concat("unknown section [", shown(name), "]; the sections are ", list_of_sections());
}

}  // namespace dikkat::schema
