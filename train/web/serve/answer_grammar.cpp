#include "train/web/serve/answer_grammar.h"

#include <nlohmann/json.hpp>

#include "train/grammar/json_schema.h"
#include "train/system/json.h"
#include "train/web/serve/api_error.h"

namespace dikkat::serve {
namespace {

using Json = nlohmann::ordered_json;

constexpr index kMostSpace = 8;  // characters of white space between marks

Grammar white_space(std::optional<index> most = kMostSpace) {
  return repeat(one_character({{'\t', '\n'}, {'\r', '\r'}, {' ', ' '}}), 0, most);
}

/// Returns the texts of a tool's arguments. `effort` counts the work for all tools.
Grammar arguments_of(const Tool& tool, const JsonForm& form, const std::function<void()>& on_progress, SchemaEffort& effort) {
  const std::string field = concat("tools.", tool.name, ".parameters");
  Json schema = tool.parameters.empty() ? Json::object() : parse_json<Json>(tool.parameters);
  const PartsFreer schema_freer(schema);
  const Json* const type = find_value(schema, "type");
  if (type != nullptr && *type != "object") {
    throw ApiError(400, concat(field, ".type is ", short_text(*type), ", expected \"object\", because arguments have names"),
                   field + ".type", "invalid_value");
  }
  if (type == nullptr) {
    schema.erase("type");  // it may be null
    add_field(schema, "type", "object");
  }
  try {
    return json_schema(schema, {.name = field, .on_progress = on_progress, .effort = &effort, .form = form});
  } catch (const SchemaError& error) {
    const std::string path = error.path().empty() ? field : concat(field, '.', error.path());
    throw ApiError(400, concat("the parameters of the tool ", tool.name, " cannot be used: ", error.what()), path, "invalid_value");
  }
}

/// Returns one call of any of the tools.
Grammar call_of(const CallFormat& form, const AnswerRules& rules) {
  SchemaEffort effort;
  std::vector<Grammar> calls;
  for (const Tool& tool : rules.tools.tools) {
    Grammar arguments = arguments_of(tool, form.arguments, rules.on_progress, effort);
    calls.push_back(form.arguments_first ? sequence({std::move(arguments), literal(form.between + tool.name)})
                                         : sequence({literal(tool.name + form.between), std::move(arguments)}));
  }
  return shared(sequence({literal(form.before), any_of(std::move(calls)), literal(form.after)}));
}

/// Returns one call, or several if that is possible.
Grammar calls_of(const CallFormat& form, const AnswerRules& rules) {
  const Grammar call = call_of(form, rules);
  std::vector<Grammar> parts = {literal(form.open), call, literal(form.close)};
  if (form.several && rules.tools.several) {
    parts.insert(parts.begin() + 2, repeat(sequence({literal(form.separator), call}), 0));
    parts.push_back(optional(literal(form.last)));
  }
  return sequence(std::move(parts));
}

/// Returns the texts that are not a call, where a call has no mark: those that do not begin as one.
Grammar text_beside_bare_call(const CallFormat& form) {
  const Grammar any_text = repeat(one_character({{0, utf8::kLastCodePoint}}), 0);
  return all_of({all_but(sequence({white_space(std::nullopt), any_of({literal(form.before), literal(python_tag())}), any_text}))});
}

/// Returns the answers of a model that decides whether it calls tools.
Grammar free_answer(const CallFormat& form, const AnswerRules& rules) {
  const std::optional<Grammar>& content = rules.content;
  const Grammar calls = calls_of(form, rules);
  if (form.begin.empty()) {
    const Grammar call = sequence({white_space(), optional(literal(python_tag())), calls});
    return any_of({content ? *content : text_beside_bare_call(form), call});
  }
  if (content) {
    return any_of({*content, calls});
  }
  const Grammar text = text_without(form.begin);
  const bool several = form.several && rules.tools.several;
  return sequence({text, repeat(sequence({calls, text}), 0, several ? std::nullopt : std::optional<index>(1))});
}

}  // namespace

std::optional<Grammar> answer_grammar(const AnswerFormat& form, const AnswerRules& rules) {
  // Make the grammar of the answer after its reasoning.
  std::optional<Grammar> answer = rules.content;
  if (rules.tools.choice == ToolChoice::required) {
    answer = calls_of(form.calls.value(), rules);
  } else if (rules.tools.choice == ToolChoice::automatic) {
    answer = free_answer(form.calls.value(), rules);
  }
  if (!answer || form.think_begin.empty()) {
    return answer;
  }
  const Grammar rest = sequence({text_without(form.think_end), literal(form.think_end), white_space(), *answer});
  if (rules.begins_in_reasoning) {
    return rest;
  }
  return rules.reasons.value_or(true) ? any_of({*answer, sequence({white_space(), literal(form.think_begin), rest})}) : *answer;
}

}  // namespace dikkat::serve
