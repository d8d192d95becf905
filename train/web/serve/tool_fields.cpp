#include "train/web/serve/tool_fields.h"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "train/system/json.h"
#include "train/web/serve/api_error.h"

namespace dikkat::serve {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostTools = 128;
constexpr std::size_t kLongestName = 128;

template <class... Parts>
[[noreturn]] void refuse_tool(const std::string& field, const Parts&... parts) {
  throw ApiError(400, concat(field, ' ', parts...), field, "invalid_value");
}

std::string found(const Json& value) {
  return value.is_array() ? concat("is a list of ", value.size()) : value.is_object() ? "is an object" : concat("is ", short_text(value));
}

/// Returns a field that is true or false; nullopt if it is missing.
std::optional<bool> flag(const Json& object, const char* name, const std::string& path = "") {
  const Json* const value = find_value(object, name);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (!value->is_boolean()) {
    refuse_tool(path + name, found(*value), ", expected true or false");
  }
  return value->get<bool>();
}

bool is_name(const std::string& text) {
  return !text.empty() && text.size() <= kLongestName && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-.:/").find(c) != std::string_view::npos;
  });
}

Tool read_tool(const Json& tool, const std::string& path) {
  constexpr const char* kForm = R"(expected {"type": "function", "function": {"name": ..., "description": ..., "parameters": {...}}})";
  if (!tool.is_object()) {
    refuse_tool(path, found(tool), ", ", kForm);
  }
  // Require a function, and no unknown fields.
  const Json* const type = find_value(tool, "type");
  if (type == nullptr || *type != "function") {
    refuse_tool(path + ".type", type == nullptr ? "is missing" : found(*type), ", expected \"function\": other tools are not supported");
  }
  const Json* const function = find_value(tool, "function");
  if (function == nullptr || !function->is_object()) {
    refuse_tool(path + ".function", function == nullptr ? "is missing" : found(*function), ", ", kForm);
  }
  for (const auto& [key, value] : function->items()) {
    constexpr std::array kKnown = {"name", "description", "parameters", "strict"};
    if (std::ranges::find(kKnown, key) == kKnown.end() && !is_nothing(value)) {
      refuse_tool(concat(path, ".function.", key),
                  "is not a field of a function that this server knows, expected name, description, parameters or strict");
    }
  }
  // Check the fields of the function.
  const Json* const name = find_value(*function, "name");
  if (name == nullptr || !name->is_string() || !is_name(name->get_ref<const std::string&>())) {
    refuse_tool(path + ".function.name", name == nullptr ? "is missing" : found(*name), ", expected 1 to ", kLongestName,
                " letters, digits and the characters _-.:/");
  }
  if (const Json* const description = find_value(*function, "description"); description != nullptr && !description->is_string()) {
    refuse_tool(path + ".function.description", found(*description), ", expected a string");
  }
  flag(*function, "strict", path + ".function.");
  const Json* const parameters = find_value(*function, "parameters");
  if (parameters != nullptr && !parameters->is_object()) {
    refuse_tool(path + ".function.parameters", found(*parameters), ", expected a JSON schema, an object");
  }
  return {.name = name->get<std::string>(), .parameters = parameters == nullptr || parameters->empty() ? "" : json_text(*parameters)};
}

/// Returns the name in {"type": "function", "function": {"name": ...}}.
std::string name_of_choice(const Json& choice) {
  const Json* const type = choice.is_object() ? find_value(choice, "type") : nullptr;
  const Json* const function = type != nullptr && *type == "function" ? find_value(choice, "function") : nullptr;
  const Json* const name = function != nullptr && function->is_object() ? find_value(*function, "name") : nullptr;
  if (name == nullptr || !name->is_string()) {
    refuse_tool("tool_choice", "is ", short_text(choice),
                R"(, expected "none", "auto", "required" or {"type": "function", "function": {"name": ...}})");
  }
  return name->get<std::string>();
}

}  // namespace

ToolRequest read_tool_request(const Json& request) {
  ToolRequest all;
  all.several = flag(request, "parallel_tool_calls").value_or(true);
  // Read the tools.
  const Json* const list = find_value(request, "tools");
  if (list != nullptr && !is_nothing(*list)) {
    if (!list->is_array() || list->size() > kMostTools) {
      refuse_tool("tools", found(*list), ", expected a list of up to ", kMostTools);
    }
    for (std::size_t i = 0; i < list->size(); ++i) {
      all.tools.push_back(read_tool((*list)[i], concat("tools[", i, ']')));
      const bool is_second = std::ranges::count(all.tools, all.tools.back().name, &Tool::name) > 1;
      if (is_second) {
        refuse_tool(concat("tools[", i, "].function.name"), "is ", short_text(Json(all.tools.back().name)),
                    ", which is the name of another tool");
      }
    }
    all.choice = ToolChoice::automatic;
    all.text = json_text(*list);
  }
  // Read the choice. A choice of one function drops the other tools.
  const Json* const choice = find_value(request, "tool_choice");
  if (choice == nullptr || *choice == "auto") {
    return all;
  }
  if (*choice == "none") {
    return {.several = all.several};
  }
  const std::string name = *choice == "required" ? "" : name_of_choice(*choice);
  if (all.tools.empty()) {
    refuse_tool("tool_choice", "is ", short_text(*choice), ", but there are no tools, expected a list in \"tools\"");
  }
  all.choice = ToolChoice::required;
  if (!name.empty()) {
    std::erase_if(all.tools, [&](const Tool& tool) { return tool.name != name; });
    if (all.tools.empty()) {
      refuse_tool("tool_choice", "names the function ", short_text(Json(name)), ", which is not one of the tools");
    }
  }
  return all;
}

ReasoningRequest read_reasoning_request(const Json& request) {
  ReasoningRequest reasoning;
  // Read whether the answer reasons, from all fields that set it.
  const char* source = nullptr;
  const auto set = [&](const char* name, std::optional<bool> is_on) {
    if (is_on && reasoning.is_on && *is_on != *reasoning.is_on) {
      refuse_tool(name, "is ", *is_on ? "true" : "false", ", but ", source, " says the opposite: set one of them");
    }
    if (is_on) {
      reasoning.is_on = is_on;
      source = name;
    }
  };
  set("enable_thinking", flag(request, "enable_thinking"));
  set("think", flag(request, "think"));
  if (const Json* const variables = find_value(request, "chat_template_kwargs"); variables != nullptr && !is_nothing(*variables)) {
    if (!variables->is_object()) {
      refuse_tool("chat_template_kwargs", found(*variables), ", expected an object such as {\"enable_thinking\": false}");
    }
    Json others = *variables;
    set("chat_template_kwargs.enable_thinking", flag(*variables, "enable_thinking", "chat_template_kwargs."));
    others.erase("enable_thinking");
    reasoning.variables = others.empty() ? "" : json_text(others);
  }
  // Read the effort.
  if (const Json* const effort = find_value(request, "reasoning_effort")) {
    constexpr std::array kEfforts = {"none", "minimal", "low", "medium", "high", "xhigh"};
    if (!effort->is_string() || std::ranges::find(kEfforts, effort->get_ref<const std::string&>()) == kEfforts.end()) {
      refuse_tool("reasoning_effort", found(*effort), R"(, expected "none", "minimal", "low", "medium", "high" or "xhigh")");
    }
    reasoning.effort = effort->get<std::string>();
  }
  // Read where the reasoning goes.
  if (const Json* const format = find_value(request, "reasoning_format")) {
    constexpr std::array kFormats = {"auto", "deepseek", "none"};
    if (!format->is_string() || std::ranges::find(kFormats, format->get_ref<const std::string&>()) == kFormats.end()) {
      refuse_tool("reasoning_format", found(*format), R"(, expected "auto", "deepseek" (in reasoning_content) or "none" (in the content))");
    }
    reasoning.stays_in_content = *format == "none";
  }
  reasoning.stays_in_content = reasoning.stays_in_content || !flag(request, "separate_reasoning").value_or(true);
  reasoning.is_hidden = !flag(request, "include_reasoning").value_or(true);
  return reasoning;
}

}  // namespace dikkat::serve
