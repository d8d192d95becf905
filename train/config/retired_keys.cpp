#include "train/config/retired_keys.h"

#include <algorithm>
#include <iterator>

namespace dikkat::schema {
namespace {

constexpr RetiredKey kRetired[] = {
    {"train", "on_end", "to run a command after a run, put it after the program: dikkat train ...; COMMAND ($? is the exit code)"},
};

}  // namespace

const RetiredKey* find_retired_key(std::string_view section, std::string_view name) {
  const auto found = std::ranges::find_if(kRetired, [&](const RetiredKey& key) { return key.section == section && key.name == name; });
  return found == std::end(kRetired) ? nullptr : &*found;
}

}  // namespace dikkat::schema
