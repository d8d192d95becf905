#include "train/web/serve/served_chat.h"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "train/grammar/json_schema.h"
#include "train/system/json.h"
#include "train/web/serve/api_error.h"

namespace dikkat::serve {
namespace {

using Json = nlohmann::ordered_json;

template <class... Parts>
[[noreturn]] void refuse_chat(const std::string& field, const Parts&... parts) {
  throw ApiError(400, concat(parts...), field, "invalid_value");
}

/// Returns the variables of the template that a request sets.
std::string variables_of(const ServedModel& model, const ReasoningRequest& reasoning) {
  constexpr std::array kOwn = {"messages", "tools", "documents", "add_generation_prompt", "bos_token", "eos_token"};
  constexpr const char* kSwitch = "enable_thinking";
  // Take the variables that the template reads and the server does not set.
  Json variables = Json::object();
  if (!reasoning.variables.empty()) {
    variables = parse_json<Json>(reasoning.variables);
    for (const auto& [name, value] : variables.items()) {
      const std::string field = "chat_template_kwargs." + name;
      if (std::ranges::find(kOwn, name) != kOwn.end()) {
        refuse_chat(field, field, " is set by the server, which does not accept another value: leave it out");
      }
      if (!model.form->mentions(name)) {
        refuse_chat(field, field, " is not a variable that the model's chat template reads: leave it out");
      }
    }
  }
  // Set the effort, if the template reads it. "none" switches reasoning off.
  std::optional<bool> is_on = reasoning.is_on;
  if (!reasoning.effort.empty()) {
    if (model.form->mentions("reasoning_effort")) {
      variables["reasoning_effort"] = reasoning.effort;
    } else if (reasoning.effort != "none" || is_on.value_or(false)) {
      refuse_chat("reasoning_effort", "reasoning_effort is ", short_text(Json(reasoning.effort)),
                  ", but the model's chat template does not read it, expected \"none\" or no effort at all, and enable_thinking to switch "
                  "reasoning on or off");
    } else {
      is_on = false;
    }
  }
  // Switch reasoning on or off.
  if (is_on) {
    const bool can_think = !model.answers.think_begin.empty();
    if (model.form->mentions(kSwitch)) {
      variables[kSwitch] = *is_on;
    } else if (*is_on != can_think) {
      refuse_chat(kSwitch, "enable_thinking is ", *is_on ? "true" : "false", ", but the model's chat template ",
                  can_think ? "cannot switch reasoning off" : "has no reasoning", ": leave it out");
    }
  }
  return variables.empty() ? "" : json_text(variables);
}

bool calls_tools(const Message& message) { return !message.fields.empty() && parse_json<Json>(message.fields).contains("tool_calls"); }

}  // namespace

Conversation conversation_of(const ServedModel& model, const ApiRequest& request) {
  if (request.tools.choice != ToolChoice::none && !model.answers.calls) {
    refuse_chat("tools", "tools cannot be given to this model, whose chat template ", model.answers.why_no_calls,
                R"(: leave them out, or set "tool_choice": "none")");
  }
  for (std::size_t i = 0; i < request.messages.size(); ++i) {
    if (!model.answers.writes_calls && calls_tools(request.messages[i])) {
      const std::string field = concat("messages[", i, "].tool_calls");
      refuse_chat(field, field, " would be lost: the model's chat template does not write calls of tools");
    }
  }
  return {.messages = request.messages, .tools = request.tools.text, .variables = variables_of(model, request.reasoning)};
}

std::vector<Token> marks_of(const ServedModel& model, bool calls) {
  const AnswerFormat& form = model.answers;
  std::string text = form.think_begin + '\n' + form.think_end;
  if (calls && form.calls) {
    const CallFormat& one = *form.calls;
    const JsonForm& arguments = one.arguments;
    text += concat('\n', one.open, '\n', one.before, '\n', one.between, '\n', one.after, '\n', one.separator, '\n', one.close, '\n',
                   one.last, '\n', arguments.quote, '\n', arguments.name_begin, '\n', arguments.name_end, '\n', arguments.value_end, '\n',
                   arguments.close, '\n', one.begin.empty() ? python_tag() : "");
  }
  std::vector<Token> marks;
  for (const SpecialToken& token : model.tokenizer.special_tokens()) {
    if (!token.name.empty() && text.find(token.name) != std::string::npos) {
      marks.push_back(token.id);
    }
  }
  return marks;
}

std::string end_of_prompt(const ServedModel& model, std::span<const Token> prompt) {
  constexpr std::size_t kTokensOfMark = 32;
  return model.tokenizer.decode(prompt.last(std::min(prompt.size(), kTokensOfMark)));
}

std::optional<AnswerReader> reader_of(const ServedModel& model, const ApiRequest& request, std::span<const Token> prompt) {
  const bool reads_reasoning = !model.answers.think_begin.empty() && !request.reasoning.stays_in_content;
  if (request.endpoint != Endpoint::chat || (!reads_reasoning && request.tools.choice == ToolChoice::none)) {
    return std::nullopt;
  }
  AnswerReader::Options options{.form = &model.answers,
                                .reads_reasoning = reads_reasoning,
                                .begins_in_reasoning = begins_in_reasoning(model.answers, end_of_prompt(model, prompt)),
                                .several = request.tools.several};
  const bool is_marked = model.answers.calls && !model.answers.calls->begin.empty();
  options.has_only_calls = request.options.constraint && request.tools.choice == ToolChoice::required;
  options.is_certain = request.options.constraint && (is_marked || request.tools.choice == ToolChoice::required);
  for (const Tool& tool : request.tools.tools) {
    options.tools.push_back(tool.name);
    if (!tool.parameters.empty() && model.answers.calls->arguments.has_tags()) {
      Json schema = parse_json<Json>(tool.parameters);
      const PartsFreer schema_freer(schema);
      options.types[tool.name] = argument_types(schema, {.form = model.answers.calls->arguments});
    }
  }
  return AnswerReader(std::move(options));
}

}  // namespace dikkat::serve
