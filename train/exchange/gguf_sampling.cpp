#include "train/exchange/gguf_sampling.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "autograd/base/error.h"

namespace dikkat {
namespace {

constexpr std::string_view kPrefix = "general.sampling.";
constexpr std::string_view kUsedKeys[] = {"temp", "top_k", "top_p", "min_p", "penalty_repeat", "penalty_last_n"};

}  // namespace

void add_gguf_sampling(const AnswerSampling& sampling, std::vector<MetaEntry>& metadata) {
  const auto add = [&](std::string_view key, MetaValue value) { metadata.push_back({concat(kPrefix, key), std::move(value)}); };
  add("temp", MetaValue(static_cast<float>(sampling.temperature)));
  add("top_k", MetaValue(static_cast<std::int32_t>(sampling.top_k)));
  add("top_p", MetaValue(static_cast<float>(sampling.top_p)));
  add("min_p", MetaValue(static_cast<float>(sampling.min_p)));
  add("penalty_repeat", MetaValue(static_cast<float>(sampling.repetition_penalty)));
  add("penalty_last_n", MetaValue(std::int32_t{-1}));  // the whole text
}

void read_gguf_sampling(const WeightFile& file, ForeignConfig& config) {
  const auto number = [&](std::string_view key, double least, double most, double absent) {
    const std::string name = concat(kPrefix, key);
    const MetaValue* const value = file.value(name);
    const auto found = value != nullptr ? value->number() : absent;
    require_input(found && least <= *found && *found <= most, file.name(), ": ", name, " is ", value != nullptr ? value->text() : "",
                  ", expected a number from ", least, " to ", most);
    // An f32 is read as its shortest decimal form, such as 0.7.
    return value != nullptr && value->type() == MetaType::f32 ? std::stod(concat(static_cast<float>(*found))) : *found;
  };
  // Values below 0 mean as much as 0 in llama.cpp: the most likely token, and all tokens.
  constexpr double kMost = 1e9;
  const AnswerSampling usual;
  AnswerSampling& sampling = config.sampling;
  sampling.temperature = std::max(number("temp", -kMost, 1000, usual.temperature), 0.0);
  sampling.top_k = static_cast<index>(std::max(number("top_k", -kMost, kMost, 0), 0.0));
  sampling.top_p = number("top_p", 0, 1, 1);
  sampling.min_p = number("min_p", 0, 1, 0);
  sampling.repetition_penalty = number("penalty_repeat", 0, 1000, 1);
  const double reach = number("penalty_last_n", -1, kMost, -1);
  if (sampling.temperature == 0) {
    const double penalty = sampling.repetition_penalty;
    sampling = greedy();
    sampling.repetition_penalty = penalty;
  }

  // Note the keys that are not used.
  std::string list;
  const auto add = [&](const std::string& key, const std::string& value) {
    list += concat(list.empty() ? "" : ", ", key, " (", value, ")");
  };
  if (sampling.repetition_penalty != 1 && reach >= 0) {
    add(concat(kPrefix, "penalty_last_n"), concat(reach));
  }
  for (const MetaEntry& entry : file.metadata()) {
    const std::string_view key = std::string_view(entry.key).substr(std::min(kPrefix.size(), entry.key.size()));
    if (entry.key.starts_with(kPrefix) && std::ranges::find(kUsedKeys, key) == std::end(kUsedKeys) && !entry.value.says_nothing()) {
      add(entry.key, entry.value.text());
    }
  }
  if (!list.empty()) {
    config.notes.push_back(concat(file.name(), " has keys that change which text is drawn, and which are not used: ", list));
  }
}

}  // namespace dikkat
