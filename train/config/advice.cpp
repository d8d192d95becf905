#include "train/config/advice.h"

#include <algorithm>
#include <vector>

#include "autograd/base/error.h"
#include "train/config/foreign_names.h"
#include "train/config/schema.h"
#include "train/config/tables.h"

namespace dikkat::schema {
namespace {

constexpr std::size_t kLongestWord = 40;  // longer ones are no misspelt key, and distances cost their square

/// In lower case and without separators, so that maxSteps, max-steps and MAX_STEPS are one word.
std::string plain(std::string_view word) {
  std::string letters;
  for (const char c : word) {
    if (c != '_' && c != '-') {
      letters += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
  }
  return letters;
}

constexpr int kFar = 1000;

/// How unlike two words are; kFar if nobody would write one for the other.
int unlikeness(std::string_view known, std::string_view word) {
  if (word.empty() || word.size() > kLongestWord) {
    return kFar;
  }
  const std::string a = plain(known);
  const std::string b = plain(word);
  const int distance = edit_distance(a, b);
  const auto shorter = static_cast<int>(std::min(a.size(), b.size()));
  if (distance <= std::clamp(shorter / 3, 1, 3)) {
    return shorter > distance ? distance : kFar;
  }
  constexpr std::size_t kTellingStart = 4;  // "warmup" for warmup_steps
  const bool is_start = b.size() >= kTellingStart && a.starts_with(b);
  const bool goes_on = a.size() >= kTellingStart && b.starts_with(a);
  return is_start || goes_on ? distance + 10 : kFar;
}

std::string shown(std::string_view name) {
  const bool is_bare = !name.empty() && name.size() <= kLongestWord && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
  return is_bare ? std::string(name) : in_quotes(name);
}

/// "[model] or [tokenizer]": the sections that have a key of this name; empty if none has.
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
  const std::string word = plain(name);
  const auto names = foreign_names();
  const auto found = std::ranges::find_if(names, [&](const ForeignName& foreign) { return plain(foreign.name) == word; });
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

int edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<int>> cost(a.size() + 1, std::vector<int>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = static_cast<int>(i + j);
        continue;
      }
      const int change = a[i - 1] == b[j - 1] ? 0 : 1;
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

std::string_view nearest_word(std::span<const std::string_view> words, std::string_view word) {
  int least = kFar;
  std::string_view nearest;
  for (const std::string_view known : words) {
    if (const int distance = unlikeness(known, word); distance < least) {
      least = distance;
      nearest = known;
    }
  }
  return nearest;
}

std::string nearest_key(std::string_view section, std::string_view name) {
  if (name.size() > kLongestWord) {
    return "";
  }
  std::pair least(kFar, 0);
  std::string nearest;
  for (const Key& key : keys()) {
    // Of two equally near ones, "n_head" and "n_kv_head" for "n_v_head", underscores decide.
    const std::pair distance(2 * unlikeness(key.name, name) + (key.section == section ? 0 : 1), edit_distance(key.name, name));
    if (distance < least) {
      least = distance;
      nearest = key.path();
    }
  }
  return nearest;
}

std::string unknown_key(std::string_view section, std::string_view name) {
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
