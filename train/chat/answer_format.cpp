#include "train/chat/answer_format.h"

#include <array>

#include <nlohmann/json.hpp>

#include "train/system/json.h"

namespace dikkat {
namespace {

using Json = nlohmann::ordered_json;

// Words of the conversations that are rendered here. None of them occurs in a template.
constexpr const char* kProbeText = "DikkatProbeText";
constexpr const char* kProbeReasoning = "DikkatProbeReasoning";
constexpr const char* kProbeDescription = "DikkatProbeDescription";
constexpr std::array kProbeNames = {"DikkatProbeOne", "DikkatProbeTwo"};
constexpr const char* kProbeKey = "DikkatProbeKey";
constexpr const char* kProbeValue = "DikkatProbeValue";
constexpr const char* kLongId = "call_0123456789abcdef";
constexpr const char* kShortId = "DPid00001";  // nine letters and digits, as Mistral's templates want

constexpr std::string_view kSpaces = " \t\n\r";

std::string_view without_space_at_end(std::string_view text) { return text.substr(0, text.find_last_not_of(kSpaces) + 1); }

std::string tools_text() {
  Json tools = Json::array();
  for (const char* name : kProbeNames) {
    Json parameters = {{"type", "object"}};
    parameters["properties"][kProbeKey] = {{"type", "string"}};
    parameters["required"] = Json::array({kProbeKey});
    Json tool = {{"type", "function"}};
    tool["function"] = {{"name", name}, {"description", kProbeDescription}, {"parameters", parameters}};
    tools.push_back(std::move(tool));
  }
  return json_text(tools);
}

/// Returns a conversation that ends with `calls` calls.
Conversation with_calls(std::size_t calls, const std::string& content, const char* id) {
  Json fields = Json::object();
  for (std::size_t i = 0; i < calls; ++i) {
    Json call = {{"id", id}, {"type", "function"}};
    call["function"] = {{"name", kProbeNames[i]}, {"arguments", {{kProbeKey, kProbeValue}}}};
    fields["tool_calls"].push_back(std::move(call));
  }
  return {.messages = {{"user", "a"}, {.role = "assistant", .content = content, .fields = json_text(fields)}}, .tools = tools_text()};
}

std::optional<std::string> try_text(const ChatTemplate& form, const Conversation& conversation, bool asks = false) {
  try {
    return form.text(conversation, asks);
  } catch (const InputError&) {  // the template refuses the conversation
    return std::nullopt;
  }
}

/// Returns the length of the JSON object or list at the beginning of a text; 0 if it does not end.
std::size_t json_length(std::string_view text) {
  int depth = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_text) {
      i += c == '\\' ? 1 : 0;
      in_text = c != '"';
    } else if (c == '"') {
      in_text = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && --depth == 0) {
      return i + 1;
    }
  }
  return 0;
}

bool is_arguments(const Json& value) { return value.is_object() && value.size() == 1 && value.value(kProbeKey, Json()) == kProbeValue; }

/// A part of a text, from `first` to `last`, which is not included.
struct ProbePart {
  std::size_t first = std::string::npos, last = 0;

  bool exists() const { return first != std::string::npos; }
};

ProbePart part_of(std::string_view text, std::string_view word, std::size_t from = 0) {
  const std::size_t first = text.find(word, from);
  return {first, first == std::string::npos ? 0 : first + word.size()};
}

/// A call in a rendered text.
struct FoundCall {
  JsonForm form{};  // of the arguments
  ProbePart name{}, arguments{};
  ProbePart object{};  // the JSON object around both, if there is one
  Json json{};

  bool has_arguments_first() const { return arguments.first < name.first; }
  const ProbePart& first() const { return has_arguments_first() ? arguments : name; }
  const ProbePart& second() const { return has_arguments_first() ? name : arguments; }
  std::size_t end() const { return object.exists() ? object.last : second().last; }
};

/// Finds the innermost JSON object that has the name and the arguments as its values.
bool find_object(std::string_view text, std::size_t from, FoundCall& call) {
  for (std::size_t at = call.first().first; at-- > from;) {
    const std::size_t length = text[at] == '{' ? json_length(text.substr(at)) : 0;
    if (at + length <= call.second().first) {
      continue;
    }
    try {
      call.json = parse_json<Json>(text.substr(at, length));
    } catch (const JsonError&) {
      continue;
    }
    call.object = {at, at + length};
    return true;
  }
  return false;
}

/// Returns the arguments after byte `from`, if they are in this form.
ProbePart find_arguments(std::string_view text, const JsonForm& form, std::size_t from) {
  if (!form.is_json()) {
    const std::string argument =
        concat(form.name_begin, kProbeKey, form.has_tags() ? form.name_end : ":", form.quote, kProbeValue, form.quote, form.value_end);
    return part_of(text, form.has_tags() ? concat(argument, form.close) : concat('{', argument, '}'), from);
  }
  const ProbePart key = part_of(text, kProbeKey, from);
  const std::size_t open = key.exists() ? text.rfind('{', key.first) : std::string::npos;
  if (open == std::string::npos || open < from) {
    return {};
  }
  const std::string_view object = text.substr(open, json_length(text.substr(open)));
  try {
    return is_arguments(parse_json<Json>(object)) ? ProbePart{open, open + object.size()} : ProbePart();
  } catch (const JsonError&) {
    return {};
  }
}

/// Returns the call of this name after byte `from`; nullopt if its parts are not there.
std::optional<FoundCall> find_call(std::string_view text, const char* name, std::size_t from) {
  for (const JsonForm& form : kJsonForms) {
    FoundCall call{.form = form, .name = part_of(text, name, from), .arguments = find_arguments(text, form, from)};
    if (call.name.exists() && call.arguments.exists() && call.first().last <= call.second().first) {  // neither lies in the other
      if (form.is_json()) {
        find_object(text, from, call);
      }
      return call;
    }
  }
  return std::nullopt;
}

/// Sets the keys of the object, and the text around name and arguments in it. Returns whether this is an object that can be read.
bool read_object(std::string_view text, const FoundCall& call, CallFormat& form) {
  for (const auto& [key, value] : call.json.items()) {
    if (value == kProbeNames[0]) {
      form.name_key = key;
    } else if (is_arguments(value)) {
      form.arguments_key = key;
    }
  }
  form.before += text.substr(call.object.first, call.first().first - call.object.first);
  // An id after both is left out, because this program numbers the calls.
  form.after = call.json.size() == 2        ? text.substr(call.second().last, call.object.last - call.second().last)
               : call.has_arguments_first() ? "\"}"
                                            : "}";
  const auto has_id = [](const std::string& part) {
    return part.find(kLongId) != std::string::npos || part.find(kShortId) != std::string::npos;
  };
  return !form.name_key.empty() && !form.arguments_key.empty() && !has_id(form.before) && !has_id(form.between);
}

/// Returns the text after a call without the end that every answer has.
std::string_view without_end_of_answer(std::string_view text, const ChatTemplate& form) {
  const auto plain = try_text(form, {.messages = {{"user", "a"}, {"assistant", kProbeText}}, .tools = tools_text()});
  const ProbePart said = plain ? part_of(*plain, kProbeText) : ProbePart();
  if (said.exists() && text.ends_with(std::string_view(*plain).substr(said.last))) {
    return text.substr(0, text.size() - (plain->size() - said.last));
  }
  const std::string end = form.end_text();
  return text.substr(0, end.empty() ? std::string_view::npos : text.find(end));
}

/// Finds out how several calls follow each other. The answer begins at byte `from`.
void read_second_call(const ChatTemplate& form, const Conversation& conversation, std::size_t from, CallFormat& calls) {
  const std::optional<std::string> two = try_text(form, conversation);
  const auto first = two ? find_call(*two, kProbeNames[0], from) : std::nullopt;
  const auto second = first ? find_call(*two, kProbeNames[1], first->end()) : std::nullopt;
  if (!second) {
    return;
  }
  const auto between = [&](std::size_t begin, std::size_t end) { return std::string_view(*two).substr(begin, end - begin); };
  if (calls.is_list) {
    const std::string_view middle = between(first->object.last, second->object.first);
    calls.several = without_space_around(middle) == ",";
    calls.separator = middle;
    return;
  }
  std::string_view middle = between(first->second().last, second->first().first);
  if (calls.begin.empty() || !middle.ends_with(calls.before)) {
    return;
  }
  middle.remove_suffix(calls.before.size());
  // If only the last call has all of the text after it, the part that the others lack ends the answer.
  const std::string_view each = without_space_at_end(middle);
  if (!each.empty() && each.size() < calls.after.size() && calls.after.starts_with(each)) {
    calls.last = without_space_around(std::string_view(calls.after).substr(each.size()));
    calls.after = each;
    calls.end = without_space_around(std::string_view(calls.end).substr(0, calls.end.rfind(calls.last)));
  }
  calls.several = middle.starts_with(calls.after);
  calls.separator = calls.several ? middle.substr(calls.after.size()) : "";
}

/// Returns how an answer calls tools. Sets `why` if that cannot be found out.
std::optional<CallFormat> call_form_of(const ChatTemplate& form, std::string& why, bool& writes_calls) {
  // Render a call. Some templates drop the content next to it, and some refuse long ids.
  const char* id = kLongId;
  std::optional<std::string> one = try_text(form, with_calls(1, kProbeText, id));
  if (!one) {
    id = kShortId;
    one = try_text(form, with_calls(1, kProbeText, id));
  }
  why = "does not write calls of tools";
  if (!one) {
    return std::nullopt;
  }
  writes_calls = one->find(kProbeValue) != std::string::npos;
  if (one->find(kProbeDescription) == std::string::npos) {
    why = "does not write tools";
    return std::nullopt;
  }
  // Find the byte at which the answer begins.
  std::string content = kProbeText;
  std::size_t from = part_of(*one, kProbeText).last;
  if (from == 0) {  // then the call is the whole answer, and follows the prompt
    content = "";
    one = try_text(form, with_calls(1, "", id));
    const auto prompt = try_text(form, {.messages = {{"user", "a"}}, .tools = tools_text()}, true);
    if (!one || !prompt || !one->starts_with(*prompt)) {
      return std::nullopt;
    }
    from = prompt->size();
  }
  // Find the name and the arguments.
  const std::string_view text = *one;
  const std::optional<FoundCall> call = find_call(text, kProbeNames[0], from);
  if (!call) {
    if (text.find(kProbeNames[0], from) != std::string::npos) {
      why = "writes calls of tools in a form that this program does not know";
    }
    return std::nullopt;
  }
  // Take the text before, between and after them.
  const bool in_object = call->object.exists();
  CallFormat calls{.arguments_first = call->has_arguments_first(), .short_ids = id == kShortId, .arguments = call->form};
  const std::string_view before = text.substr(from, (in_object ? call->object : call->first()).first - from);
  const std::string_view behind = without_end_of_answer(text.substr(call->end()), form);
  const std::string_view inside = before.substr(std::min(before.find_first_not_of(kSpaces), before.size()));
  calls.begin = without_space_around(before);
  calls.end = without_space_around(behind);
  calls.between = text.substr(call->first().last, call->second().first - call->first().last);
  calls.is_list = in_object && calls.begin.ends_with('[') && calls.end.starts_with(']');
  if (calls.is_list) {
    calls.begin = std::string(without_space_around(std::string_view(calls.begin).substr(0, calls.begin.size() - 1)));
    calls.end = std::string(without_space_around(std::string_view(calls.end).substr(1)));
    calls.open = inside;
    calls.close = without_space_at_end(behind);
  } else {
    calls.before = inside;
    if (const std::size_t mark = in_object ? 0 : calls.begin.find('>') + 1; mark > 0) {  // <tool_call> of <tool_call>\n<function=
      calls.lead = without_space_around(std::string_view(calls.begin).substr(mark));
      calls.begin.erase(mark);
    }
  }
  // Refuse a form that cannot be read, and look at a second call.
  const bool can_be_read = in_object ? read_object(text, *call, calls) : !calls.begin.empty() && !calls.arguments_first;
  if (!can_be_read || (calls.is_list && calls.begin.empty())) {
    why = "writes calls of tools in a form that this program cannot read";
    return std::nullopt;
  }
  if (!calls.is_list) {
    calls.after += without_space_at_end(behind);
  }
  read_second_call(form, with_calls(2, content, id), from, calls);
  why.clear();
  return calls;
}

/// Finds the marks around reasoning. The second is the first with a slash: <think> and </think>, [THINK] and [/THINK].
void read_reasoning(const ChatTemplate& form, AnswerFormat& answer) {
  Json fields = Json::object();
  fields["reasoning_content"] = kProbeReasoning;
  const auto text =
      try_text(form, {.messages = {{"user", "a"}, {.role = "assistant", .content = kProbeText, .fields = json_text(fields)}}});
  const ProbePart reasoning = text ? part_of(*text, kProbeReasoning) : ProbePart();
  const ProbePart said = reasoning.exists() ? part_of(*text, kProbeText, reasoning.last) : ProbePart();
  if (said.exists()) {
    const std::string_view all = *text;
    const std::string end(without_space_around(all.substr(reasoning.last, said.first - reasoning.last)));
    std::string begin = end;
    if (const std::size_t slash = begin.find('/'); slash != std::string::npos) {
      begin.erase(slash, 1);
      if (without_space_around(all.substr(0, reasoning.first)).ends_with(begin)) {
        answer.think_begin = begin;
        answer.think_end = end;
        return;
      }
    }
  }
  if (form.mentions("</think>")) {  // it removes reasoning from earlier answers, or begins it in the prompt
    answer.think_begin = "<think>";
    answer.think_end = "</think>";
  }
}

}  // namespace

std::string_view without_space_around(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kSpaces);
  return first == std::string_view::npos ? "" : text.substr(first, text.find_last_not_of(kSpaces) + 1 - first);
}

AnswerFormat answer_format_of(const ChatTemplate& form) {
  AnswerFormat answer;
  answer.calls = call_form_of(form, answer.why_no_calls, answer.writes_calls);
  read_reasoning(form, answer);
  return answer;
}

bool begins_in_reasoning(const AnswerFormat& form, std::string_view prompt) {
  return !form.think_begin.empty() && without_space_around(prompt).ends_with(form.think_begin);
}

}  // namespace dikkat
