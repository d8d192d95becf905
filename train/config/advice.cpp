#include "train/config/advice.h"

#include <algorithm>

#include "autograd/base/error.h"
#include "train/config/schema.h"
#include "train/config/tables.h"
#include "train/system/nearest_word.h"

namespace dikkat::schema {
namespace {

struct RetiredKey {
  std::string_view section, name;
  std::string_view advice;  // what to do instead
};

constexpr RetiredKey kRetired[] = {
    {"train", "on_end", "to run a command after a run, put it after the program: dikkat train ...; COMMAND ($? is the exit code)"},
};

const RetiredKey* find_retired(std::string_view section, std::string_view name) {
  const auto* const found =
      std::ranges::find_if(kRetired, [&](const RetiredKey& key) { return key.section == section && key.name == name; });
  return found == std::end(kRetired) ? nullptr : found;
}

std::string shown(std::string_view name) {
  const bool is_bare = !name.empty() && name.size() <= kLongestMisspelling && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
  return is_bare ? std::string(name) : in_quotes(name);
}

}  // namespace

bool is_retired(std::string_view section, std::string_view name) { return find_retired(section, name) != nullptr; }

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
  if (const RetiredKey* retired = find_retired(section, name)) {
    return concat(section, '.', name, " is no longer a key; ", retired->advice);
  }
  const std::string path = section.empty() ? shown(name) : concat(shown(section), '.', shown(name));
  if (find_table(section, name) != nullptr) {
    return concat(path, " is a list of tables: give it in the file, as [[", path, "]]");
  }
  const std::string nearest = nearest_key(section, name);
  return concat("unknown key ", path,
                nearest.empty() ? ", expected one that `dikkat config keys` lists" : concat("; did you mean ", nearest, '?'));
}

std::string unknown_key(const Table& list, std::string_view name) {
  std::string all;
  for (const TableKey& key : list.keys) {
    all += concat(all.empty() ? "" : key.name == list.keys.back().name ? " and " : ", ", key.name);
  }
  return concat("a ", list.one, " of ", list.path(), " has no key ", shown(name), "; it has ", all);
}

std::string unknown_section(std::string_view name) {
  std::string all;
  for (const std::string_view section : sections()) {
    all += concat(all.empty() ? "" : ", ", '[', section, ']');
  }
  return concat("unknown section [", shown(name), "]; the sections are ", all);
}

}  // namespace dikkat::schema
