#include "train/chat/content_parts.h"

#include <utility>

#include "train/chat/template/template_error.h"

namespace dikkat {
namespace {

using jinja::MarkedText;
using jinja::Origin;
using jinja::Value;

constexpr Origin kProbe = 1;

Value dict_of(std::initializer_list<std::pair<std::string_view, Value>> items) {
  jinja::DictItems all;
  for (const auto& [key, value] : items) {
    all.emplace_back(Value(key), value);
  }
  return Value::dict(std::move(all));
}

Value message_of(std::string_view role, Value content) { return dict_of({{"role", Value(role)}, {"content", std::move(content)}}); }

/// Returns the messages of a conversation in which one of this role has `content`.
Value conversation_with(std::string_view role, const Value& content) {
  const Value question = message_of("user", Value("a"));
  if (role == "user") {
    return Value::list({message_of(role, content)});
  }
  if (role == "assistant") {
    return Value::list({question, message_of(role, content)});
  }
  if (role != "tool") {
    return Value::list({message_of(role, content), question});
  }
  constexpr const char* kId = "DPid00001";  // nine letters and digits, as Mistral's templates want
  const Value function = dict_of({{"name", Value("f")}, {"arguments", Value::dict({})}});
  const Value call = dict_of({{"id", Value(kId)}, {"type", Value("function")}, {"function", function}});
  const Value answer = dict_of({{"role", Value("assistant")}, {"content", Value("")}, {"tool_calls", Value::list({call})}});
  const Value result = dict_of({{"role", Value(role)}, {"content", content}, {"name", Value("f")}, {"tool_call_id", Value(kId)}});
  return Value::list({question, answer, result});
}

/// Returns the bytes of a rendered text that come from the probe.
std::string written_of_probe(const MarkedText& text) {
  std::string written;
  std::size_t begin = 0;
  for (const jinja::TextPart& part : text.parts()) {
    if (part.origin == kProbe) {
      written += text.bytes().substr(begin, part.end - begin);
    }
    begin = part.end;
  }
  return written;
}

}  // namespace

std::string joined_parts(std::span<const std::string> parts, std::string_view separator) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    text += i == 0 ? "" : separator;
    text += parts[i];
  }
  return text;
}

Value parts_value(std::span<const std::string> parts, Origin origin) {
  std::vector<Value> items;
  for (const std::string& text : parts) {
    items.push_back(dict_of({{"type", Value(MarkedText("text", origin))}, {"text", Value(MarkedText(text, origin))}}));
  }
  return Value::list(std::move(items));
}

std::vector<std::string> roles_with_parts(const std::function<MarkedText(Value messages)>& render) {
  const std::string words[] = {"DikkatProbeOne", "DikkatProbeTwo"};
  std::vector<std::string> roles;
  for (const char* const role : {"system", "developer", "user", "assistant", "tool"}) {
    try {
      if (written_of_probe(render(conversation_with(role, parts_value(words, kProbe)))) == words[0] + words[1]) {
        roles.emplace_back(role);
      }
    } catch (const jinja::TemplateError&) {  // NOLINT(bugprone-empty-catch): then it takes a string, or no messages of this role
    }
  }
  return roles;
}

}  // namespace dikkat
