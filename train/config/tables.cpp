#include "train/config/tables.h"

#include <algorithm>

#include "autograd/base/error.h"
#include "train/config/members.h"
#include "train/config/rules.h"

namespace dikkat::schema {
namespace {

/// Makes a key of the tables in config.*Section.*List. Empty optionals, strings and lists count as not set.
template <auto Section, auto List, auto Member>
constexpr TableKey cell(std::string_view list, std::string_view name, Rule rule, std::string_view help) {
  using Item = typename std::remove_cvref_t<decltype((std::declval<Config&>().*Section).*List)>::value_type;
  using Field = std::remove_cvref_t<decltype(std::declval<Item&>().*Member)>;
  if (rule.choices.empty()) {
    rule.choices = choices_of<Field>();
  }
  TableKey key;
  static_cast<Setting&>(key) = {.section = list, .name = name, .help = help, .type = type_of<Field>(), .rule = rule};
  key.get = [](const Config& config, std::size_t item) {
    const Field& field = ((config.*Section).*List)[item].*Member;
    if constexpr (IsOptional<Field>::value) {
      return field ? to_value(*field) : Value();
    } else if constexpr (requires { field.empty(); }) {
      return field.empty() ? Value() : to_value(field);
    } else {
      return to_value(field);
    }
  };
  key.set = [](Config& config, std::size_t item, const Value& value) {
    Field& field = ((config.*Section).*List)[item].*Member;
    if constexpr (IsOptional<Field>::value) {
      field = from_value<typename Field::value_type>(value);
    } else {
      field = from_value<Field>(value);
    }
  };
  return key;
}

template <auto Section, auto List>
constexpr Table table(std::string_view section, std::string_view name, std::string_view one, std::span<const TableKey> keys,
                      std::string (*problem)(const Config&, std::size_t), std::string_view about) {
  return {.section = section,
          .name = name,
          .one = one,
          .about = about,
          .keys = keys,
          .size = [](const Config& config) { return ((config.*Section).*List).size(); },
          .resize = [](Config& config, std::size_t size) { ((config.*Section).*List).resize(size); },
          .problem = problem};
}

// A new list is a vector in config.h, its keys here, and a row of kTables.

template <auto Member>
constexpr TableKey source(std::string_view name, Rule rule, std::string_view help) {
  return cell<&Config::data, &DataConfig::sources, Member>("data.sources", name, rule, help);
}
constexpr TableKey kSourceKeys[] = {
    source<&DataSource::name>("name", not_empty(), "Name of the source in reports of losses."),
    source<&DataSource::corpus>("corpus", anything(), "Files and folders to train on, given as in data.corpus."),
    source<&DataSource::validation>("validation", anything(), "Files and folders to validate on, used instead of data.val_fraction."),
    source<&DataSource::weight>("weight", above_to(0, 1e6), "Weight of the source: its share of all windows is weight / sum of weights."),
};

template <auto Member>
constexpr TableKey evaluation(std::string_view name, Rule rule, std::string_view help) {
  return cell<&Config::data, &DataConfig::evaluations, Member>("data.evaluations", name, rule, help);
}
constexpr TableKey kEvaluationKeys[] = {
    evaluation<&EvaluationSource::name>("name", not_empty(), "Name of the text in reports of losses."),
    evaluation<&EvaluationSource::corpus>("corpus", anything(), "Files and folders to evaluate, given as in data.corpus."),
};

template <auto Member>
constexpr TableKey group(std::string_view name, Rule rule, std::string_view help) {
  return cell<&Config::optim, &OptimConfig::groups, Member>("optim.groups", name, rule, help);
}
constexpr TableKey kGroupKeys[] = {
    group<&ParameterGroup::match>("match", not_empty(), "Pattern for the whole path of a parameter, such as \"h.0.*\"."),
    group<&ParameterGroup::role>("role", anything(), "Role of the parameters in the model."),
    group<&ParameterGroup::learning_rate>("learning_rate", above_to(0, 1), "Peak learning rate of the group's parameters."),
    group<&ParameterGroup::weight_decay>("weight_decay", between(0, 10), "Weight decay of the group's parameters."),
    group<&ParameterGroup::frozen>("frozen", anything(), "Whether the group's parameters are frozen."),
};

std::string problem_of_source(const Config& config, std::size_t item) {
  const DataSource& source = config.data.sources[item];
  return source.name.empty() || source.corpus.empty() ? "data.sources: a source has no name or no corpus, expected both" : "";
}

std::string problem_of_evaluation(const Config& config, std::size_t item) {
  const EvaluationSource& text = config.data.evaluations[item];
  return text.name.empty() || text.corpus.empty() ? "data.evaluations: a text has no name or no corpus, expected both" : "";
}

std::string problem_of_group(const Config& config, std::size_t item) {
  const ParameterGroup& group = config.optim.groups[item];
  return group.match.empty() && !group.role ? "optim.groups: a group has neither match nor role, expected at least one of them" : "";
}

constexpr Table kTables[] = {
    table<&Config::data, &DataConfig::sources>(
        "data", "sources", "source", kSourceKeys, problem_of_source,
        R"(# Several sources of text to train on, instead of corpus. The share of windows taken from a source is proportional to its weight.
# Each source is split for validation separately, and its loss is reported by name; the validation loss is their weighted mean.
# [[data.sources]]
# name = "stories"
# corpus = ["stories.txt"]
# weight = 3
)"),
    table<&Config::data, &DataConfig::evaluations>(
        "data", "evaluations", "text", kEvaluationKeys, problem_of_evaluation,
        R"(# Additional texts whose loss is measured at each evaluation and reported by name. They are never trained on and do not affect early
# stopping.
# [[data.evaluations]]
# name = "news"
# corpus = ["news.txt"]
)"),
    table<&Config::optim, &OptimConfig::groups>(
        "optim", "groups", "group", kGroupKeys, problem_of_group,
        R"(# Groups of parameters with their own settings. A group selects parameters by a pattern for their paths (match), by their role (hidden,
# embedding, head, vector), or by both. It sets learning_rate, weight_decay or frozen. If several groups select a parameter, the last one
# that sets a value counts.
# [[optim.groups]]
# match = "h.0.*"
# frozen = true
)"),
};

}  // namespace

std::string Table::path() const { return concat(section, '.', name); }

const TableKey* Table::find(std::string_view key) const {
  const auto found = std::ranges::find(keys, key, &TableKey::name);
  return found == keys.end() ? nullptr : &*found;
}

std::span<const Table> tables() { return kTables; }

const Table* find_table(std::string_view section, std::string_view name) {
  const auto found = std::ranges::find_if(kTables, [&](const Table& list) { return list.section == section && list.name == name; });
  return found == std::end(kTables) ? nullptr : &*found;
}

}  // namespace dikkat::schema
