#include "train/exchange/hf_reader.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/config/schema.h"

namespace dikkat {

using nlohmann::json;

const json* HfReader::find(std::string_view key) const { return find_value(object_, key); }

void HfReader::set(Config& config, std::string_view ours, std::string_view theirs, const json& value, Form form) const {
  const schema::Key* key = schema::find_key("model", ours);
  require(key != nullptr, "config.json: model.", ours, " is not a key");
  schema::Value converted;
  if (key->type == schema::Type::integer && value.is_number_integer() &&
      !(value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<index>::max()))) {
    converted = value.get<index>();
  } else if (key->type == schema::Type::number && value.is_number()) {
    converted = ours_of(form, value.get<double>());
  } else if (key->type == schema::Type::boolean && value.is_boolean()) {
    converted = value.get<bool>();
  } else if (key->type == schema::Type::numbers && value.is_array() && std::ranges::all_of(value, &json::is_number)) {
    converted = value.get<std::vector<double>>();
  } else {
    fail_input(name_, ": ", theirs, " is ", short_text(value), ", expected ", key->expected());
  }
  require_input(key->problem_with(converted).empty(), name_, ": ", theirs, " is ", short_text(value), ", expected ", key->expected());
  key->set(config, converted);
}

}  // namespace dikkat
