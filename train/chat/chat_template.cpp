#include "train/chat/chat_template.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/chat/built_in_templates.h"
#include "train/chat/content_parts.h"
#include "train/chat/markup.h"
#include "train/chat/template/print.h"
#include "train/chat/template/template.h"
#include "train/system/json.h"

namespace dikkat {
namespace {

using jinja::DictItems;
using jinja::json_of;
using jinja::kFromTemplate;
using jinja::MarkedText;
using jinja::Origin;
using jinja::set_item;
using jinja::TemplateError;
using jinja::TemplateRefusal;
using jinja::TextPart;
using jinja::Value;
using Json = nlohmann::ordered_json;

constexpr std::string_view kWhiteSpace = " \t\n\r\v\f";

/// Returns the mark of a message's own text. Its role is chosen from a list, so it counts as the template's.
Origin origin_of(std::size_t message) { return static_cast<Origin>(message) + 2; }
constexpr Origin kOther = 1;  // tools and variables

bool calls_tools(const Message& message) { return message.fields.find("\"tool_calls\"") != std::string::npos; }

/// Returns the content of a message as the template gets it, in a message of `role`.
Value content_of(const Message& message, std::size_t number, const std::string& role, ContentParts reading,
                 const std::vector<std::string>& roles_with_parts) {
  const Origin origin = origin_of(number);
  if (message.parts.empty()) {
    return Value(MarkedText(message.content, origin));
  }
  if (reading == ContentParts::glued) {
    return Value(MarkedText(joined_parts(message.parts, ""), origin));
  }
  return std::ranges::find(roles_with_parts, role) != roles_with_parts.end() ? parts_value(message.parts, origin)
                                                                             : Value(MarkedText(message.content, origin));
}

Value value_of(const Message& message, std::size_t number, const std::string& role, Value content, bool arguments_as_text) {
  DictItems items;
  set_item(items, "role", Value(role));
  set_item(items, "content", std::move(content));
  if (!message.fields.empty()) {
    Json json = parse_json<Json>(message.fields);
    if (arguments_as_text && json.contains("tool_calls")) {
      for (Json& call : json["tool_calls"]) {
        const Value arguments = Value::from_json(call["function"]["arguments"], kFromTemplate);
        call["function"]["arguments"] = json_of(arguments, {}).bytes();
      }
    }
    const Value fields = Value::from_json(json, origin_of(number));
    for (const auto& [key, value] : fields.dict()->items) {
      set_item(items, key.text()->bytes(), value);
    }
  }
  return Value::dict(std::move(items));
}

/// Returns whether the characters of `wanted`, without white space, occur in `text` in their order.
bool has_in_order(std::string_view text, std::string_view wanted) {
  std::size_t at = 0;
  for (const char c : wanted) {
    if (kWhiteSpace.find(c) == std::string_view::npos) {
      at = text.find(c, at);
      if (at == std::string_view::npos) {
        return false;
      }
      ++at;
    }
  }
  return true;
}

bool is_blank(std::string_view text) { return text.find_first_not_of(kWhiteSpace) == std::string_view::npos; }

/// Returns the messages with the system message in front, if they have none.
Conversation with_system_message(const Conversation& conversation, const std::string& system) {
  Conversation whole = conversation;
  if (!system.empty() && (whole.messages.empty() || whole.messages.front().role != "system")) {
    whole.messages.insert(whole.messages.begin(), {.role = "system", .content = system});
  }
  return whole;
}

/// Returns the tokens of a text between the tokenizer's begin and end tokens, all of it scored.
ChatTokens encode_text(const Tokenizer& tokenizer, const std::string& text) {
  const TextTokens around = tokenizer.text_tokens();
  ChatTokens all;
  const auto add_scored = [&](std::span<const Token> tokens) {
    all.tokens.insert(all.tokens.end(), tokens.begin(), tokens.end());
    all.scored.insert(all.scored.end(), tokens.size(), true);
  };
  if (around.before) {
    add_scored({&*around.before, 1});
  }
  add_scored(tokenizer.encode(text));
  const std::optional<Token> end = around.eos ? around.eos : tokenizer.separator();
  if (end) {
    add_scored({&*end, 1});
  }
  return all;
}

}  // namespace

/// The program of a template, and facts about the tokenizer.
struct ChatTemplate::Program {
  jinja::Template program;
  CalendarDate date;
  DictItems variables;                          // the variables of every conversation
  std::vector<SpecialToken> special;            // longer names first
  std::vector<std::string> roles_with_parts{};  // roles in whose messages a content may be a list
};

/// A conversation as a text whose parts know the messages that they come from.
class ChatTemplate::Rendered {
 public:
  explicit Rendered(MarkedText text) : text_(std::move(text)) {}

  const std::string& bytes() const { return text_.bytes(); }
  const MarkedText& marked() const { return text_; }
  index size() const { return static_cast<index>(text_.size()); }

  /// Returns the range from the first to the last part for which `is_meant` holds; nullopt if there is none.
  std::optional<ByteRange> range_of(auto is_meant) const {
    std::optional<ByteRange> range;
    index begin = 0;
    for (const TextPart& part : text_.parts()) {
      const auto end = static_cast<index>(part.end);
      if (is_meant(part)) {
        range = ByteRange{.first = range ? range->first : begin, .last = end};
      }
      begin = end;
    }
    return range;
  }

  std::optional<ByteRange> message(std::size_t number) const {
    return range_of([&](const TextPart& part) { return part.origin == origin_of(number); });
  }

  /// Returns the parts that the template marks with {% generation %}, joined where they touch.
  std::vector<ByteRange> generated() const {
    std::vector<ByteRange> ranges;
    index begin = 0;
    for (const TextPart& part : text_.parts()) {
      const auto end = static_cast<index>(part.end);
      if (part.generated && !ranges.empty() && ranges.back().last == begin) {
        ranges.back().last = end;
      } else if (part.generated) {
        ranges.push_back({.first = begin, .last = end});
      }
      begin = end;
    }
    return ranges;
  }

  ChatText text(std::vector<ByteRange> scored) const {
    ChatText all = chat_text(text_);
    all.scored = std::move(scored);
    return all;
  }

 private:
  MarkedText text_;
};

ChatTemplate::ChatTemplate(TemplateName name, const std::string& source, const Tokenizer& tokenizer, ChatVariables variables)
    : name_(name), variables_(std::move(variables)) {
  auto program = std::make_shared<Program>(
      Program{.program = jinja::Template(source), .date = {}, .variables = {}, .special = tokenizer.special_tokens()});
  std::ranges::stable_sort(program->special, [](const SpecialToken& a, const SpecialToken& b) { return a.name.size() > b.name.size(); });
  if (!variables_.date.empty()) {
    program->date = CalendarDate::parse(variables_.date);
  }
  // transformers defines these even if there are none.
  set_item(program->variables, "tools", Value(nullptr));
  set_item(program->variables, "documents", Value(nullptr));
  for (const auto& [key, token] : special_names(tokenizer)) {
    set_item(program->variables, key, Value(token));
  }
  if (!variables_.others.empty()) {
    const Value others = Value::from_json(parse_json<Json>(variables_.others), kOther);
    require_input(others.dict() != nullptr, "chat.variables is ", variables_.others,
                  ", expected a JSON object such as {\"enable_thinking\": false}");
    for (const auto& [key, value] : others.dict()->items) {
      set_item(program->variables, key.text()->bytes(), value);
    }
  }
  // Find out which roles may have lists of parts.
  program->roles_with_parts = roles_with_parts([&](Value messages) {
    DictItems with = program->variables;
    set_item(with, "messages", std::move(messages));
    set_item(with, "add_generation_prompt", Value(false));
    return program->program.render(*Value::dict(std::move(with)).dict(), program->date);
  });
  program_ = std::move(program);
  // A short conversation shows how an answer ends. A template may refuse it.
  try {
    const Conversation probe{.messages = {{"user", "a"}, {"assistant", "b"}}};
    const Rendered rendered = render(probe, 2, false);
    if (const std::optional<ByteRange> answer = rendered.message(1)) {
      if (const std::optional<ByteRange> end = special_after(rendered, answer->last)) {
        const std::string_view ending = std::string_view(rendered.bytes())
                                            .substr(static_cast<std::size_t>(end->first), static_cast<std::size_t>(end->last - end->first));
        end_ = std::ranges::find(program_->special, ending, &SpecialToken::name)->id;
      }
    }
  } catch (const TemplateError&) {  // NOLINT(bugprone-empty-catch): the tokenizer's own end of a text ends answers
  }
}

std::string ChatTemplate::end_text() const {
  const auto found = end_ ? std::ranges::find(program_->special, *end_, &SpecialToken::id) : program_->special.end();
  return found == program_->special.end() ? "" : found->name;
}

std::string ChatTemplate::begin_text() const {
  const auto found = std::ranges::find_if(program_->variables, [](const auto& one) { return one.first.text()->bytes() == "bos_token"; });
  return found == program_->variables.end() ? "" : found->second.text()->bytes();
}

ChatTemplate ChatTemplate::with_system(const std::string& system) const {
  ChatTemplate other = *this;
  other.variables_.system = system;
  return other;
}

std::string ChatTemplate::jinja() const {
  const std::string& source = program_->program.source();
  if (variables_.system.empty()) {
    return source;
  }
  std::string quoted = "'";
  for (const char c : variables_.system) {
    quoted += c == '\n' ? "\\n" : c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  }
  return concat("{%- if not messages or messages[0]['role'] != 'system' %}{%- set messages = [{'role': 'system', 'content': ", quoted,
                "'}] + messages %}{%- endif %}", source);
}

/// Returns the variables of a template that writes the first `count` messages of a conversation.
jinja::Value ChatTemplate::variables_for(const Conversation& conversation, std::size_t count, bool asks, bool arguments_as_text) const {
  DictItems variables = program_->variables;
  std::vector<Value> messages;
  const bool knows_developers = program_->program.source().find("developer") != std::string::npos;
  for (std::size_t i = 0; i < count; ++i) {
    const Message& message = conversation.messages[i];
    const std::string role = message.role == "developer" && !knows_developers ? "system" : message.role;
    Value content = content_of(message, i, role, variables_.parts, program_->roles_with_parts);
    messages.push_back(value_of(message, i, role, std::move(content), arguments_as_text));
  }
  set_item(variables, "messages", Value::list(std::move(messages)));
  set_item(variables, "add_generation_prompt", Value(asks));
  if (!conversation.tools.empty()) {
    set_item(variables, "tools", Value::from_json(parse_json<Json>(conversation.tools), kOther));
  }
  if (!conversation.variables.empty()) {
    const Value more = Value::from_json(parse_json<Json>(conversation.variables), kOther);
    require_input(more.dict() != nullptr, "the variables of the chat template are ", conversation.variables,
                  ", expected a JSON object such as {\"enable_thinking\": false}");
    for (const auto& [key, value] : more.dict()->items) {
      set_item(variables, key.text()->bytes(), value);
    }
  }
  return Value::dict(std::move(variables));
}

/// Renders the first `count` messages of a conversation. With `asks`, the beginning of an answer follows.
ChatTemplate::Rendered ChatTemplate::render(const Conversation& conversation, std::size_t count, bool asks) const {
  const Value variables = variables_for(conversation, count, asks, false);
  const auto rendered = [&](const Value& with) { return Rendered(program_->program.render(*with.dict(), program_->date)); };
  try {
    return rendered(variables);
  } catch (const TemplateRefusal& refusal) {
    throw TemplateRefusal(concat("the chat template refuses the messages: ", refusal.what()));
  } catch (const TemplateError& error) {
    // Some templates add the arguments of a call to a string, so they need them as a string.
    if (std::any_of(conversation.messages.begin(), conversation.messages.begin() + static_cast<std::ptrdiff_t>(count), calls_tools)) {
      try {
        return rendered(variables_for(conversation, count, asks, true));
      } catch (const TemplateError&) {  // NOLINT(bugprone-empty-catch): the first problem is reported
      }
    }
    throw TemplateError(concat("the chat template cannot write the messages: ", error.what()));
  }
}

/// Returns the first name of a special token that the template wrote at or after byte `at`, before the next message. After calls, whose
/// marks may be special tokens too, it is the token that ends answers, or else the last one.
std::optional<ByteRange> ChatTemplate::special_after(const Rendered& rendered, index at, bool has_calls) const {
  std::string_view markup;  // the template's text up to the next message
  std::size_t begin = 0;
  for (const TextPart& part : rendered.marked().parts()) {
    const auto first = std::max(begin, static_cast<std::size_t>(at));
    if (first < part.end) {
      if (part.origin != kFromTemplate) {
        break;
      }
      markup = std::string_view(rendered.bytes()).substr(static_cast<std::size_t>(at), part.end - static_cast<std::size_t>(at));
    }
    begin = part.end;
  }
  std::optional<ByteRange> found;
  for (const SpecialToken& token : program_->special) {  // the longest of several at one place comes first
    const bool is_end = token.id == end_;
    const std::size_t first = has_calls && !is_end ? markup.rfind(token.name) : markup.find(token.name);
    if (first == std::string_view::npos) {
      continue;
    }
    const ByteRange range{.first = at + static_cast<index>(first), .last = at + static_cast<index>(first + token.name.size())};
    if (has_calls && is_end) {
      return range;
    }
    if (!found || (has_calls ? range.first > found->first : range.first < found->first)) {
      found = range;
    }
  }
  return found;
}

/// Returns the answer at the end of a text: from the end of the prompt to the end of the answer's end token.
ByteRange ChatTemplate::answer_in(const Rendered& rendered, const Conversation& conversation, std::size_t message) const {
  const Rendered prompt = render(conversation, message, true);
  const std::optional<ByteRange> content = rendered.message(message);
  const bool continues = rendered.bytes().starts_with(prompt.bytes()) && (!content || prompt.size() <= content->first);
  if (!continues && !content) {
    fail_input("the chat template does not write an empty answer behind its prompt, so there is nothing to learn");
  }
  ByteRange answer{.first = continues ? prompt.size() : content->first, .last = content ? content->last : prompt.size()};
  if (const std::optional<ByteRange> end = special_after(rendered, answer.last, calls_tools(conversation.messages[message]))) {
    answer.last = end->last;
  }
  return answer;
}

/// Returns the whole text without the messages that the data excludes from training. A message begins where the one before it ends.
std::vector<ByteRange> ChatTemplate::all_but_untrained(const Rendered& rendered, std::span<const Message> messages) const {
  std::vector<ByteRange> ranges;
  index begin = 0, end = 0;  // begin of the scored text before a message; end of the message before it
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const std::optional<ByteRange> content = rendered.message(i);
    const index last = content ? special_after(rendered, content->last, calls_tools(messages[i])).value_or(*content).last : end;
    if (!messages[i].learn.value_or(true)) {
      if (begin < end) {
        ranges.push_back({.first = begin, .last = end});
      }
      begin = last;
    }
    end = last;
  }
  if (begin < rendered.size()) {
    ranges.push_back({.first = begin, .last = rendered.size()});
  }
  return ranges;
}

/// Throws InputError unless the learned text has the message's content, its reasoning and the names of the functions that it calls.
void ChatTemplate::require_all_written(const Message& message, std::string_view written, std::size_t number) const {
  const auto require = [&](std::string_view wanted, const char* what) {
    require_input(has_in_order(written, wanted), "the chat template does not write all of ", what, " of message ", number, ", of the role ",
                  message.role);
  };
  require(message.content, "the content");
  if (message.fields.empty()) {
    return;
  }
  const Json fields = parse_json<Json>(message.fields);
  if (const Json* const reasoning = find_value(fields, "reasoning_content")) {
    require(reasoning->get_ref<const std::string&>(), "reasoning_content");
  }
  if (const Json* const calls = find_value(fields, "tool_calls")) {
    for (const Json& call : *calls) {
      require(call["function"]["name"].get_ref<const std::string&>(), "tool_calls");
    }
  }
}

ChatText ChatTemplate::ask(const Conversation& conversation) const {
  const Conversation whole = with_system_message(conversation, variables_.system);
  const Rendered rendered = render(whole, whole.messages.size(), true);
  for (std::size_t i = 0; i < whole.messages.size(); ++i) {
    const Message& message = whole.messages[i];
    require_input(is_blank(message.content) || rendered.message(i), "the chat template does not write the message ", i + 1,
                  ", of the role ", message.role);
  }
  require_input(whole.tools.empty() || rendered.range_of([](const TextPart& part) { return part.origin == kOther; }),
                "the chat template does not write the tools");
  return rendered.text({});
}

ChatText ChatTemplate::ask(std::span<const Message> messages) const {
  return ask(Conversation{.messages = {messages.begin(), messages.end()}});
}

std::string ChatTemplate::text(const Conversation& conversation, bool asks) const {
  const Conversation whole = with_system_message(conversation, variables_.system);
  return render(whole, whole.messages.size(), asks).bytes();
}

bool ChatTemplate::mentions(std::string_view word) const { return program_->program.source().find(word) != std::string::npos; }

std::vector<ChatText> ChatTemplate::learn(const Conversation& conversation, ScoredText scored) const {
  const Conversation whole = with_system_message(conversation, variables_.system);
  const std::vector<Message>& messages = whole.messages;
  const Rendered rendered = render(whole, messages.size(), false);
  // Check that the template writes all that the conversation has.
  const auto require_written = [&](const Rendered& text, std::size_t i, std::string_view wanted, const char* what) {
    const std::optional<ByteRange> range = text.message(i);
    require_input(is_blank(wanted) || range, "the chat template does not write ", what, " of message ", i + 1, ", of the role ",
                  messages[i].role);
  };
  for (std::size_t i = 0; i < messages.size(); ++i) {
    require_written(rendered, i, messages[i].content, "the content");
  }
  require_input(whole.tools.empty() || rendered.range_of([](const TextPart& part) { return part.origin == kOther; }),
                "the chat template does not write the tools");
  if (scored == ScoredText::all) {
    return {rendered.text(all_but_untrained(rendered, messages))};
  }
  // Find out which messages are scored.
  const auto last_answer = std::find_if(messages.rbegin(), messages.rend(), [](const Message& one) { return one.role == "assistant"; });
  const auto is_scored = [&](std::size_t i) {
    const bool by_kind = messages[i].role == "assistant" && (scored == ScoredText::answers || &messages[i] == &*last_answer);
    return messages[i].learn.value_or(by_kind);
  };
  // A template with {% generation %} marks the scored text itself.
  if (const std::vector<ByteRange> generated = rendered.generated(); !generated.empty()) {
    std::vector<ByteRange> ranges;
    for (std::size_t i = 0; i < messages.size(); ++i) {
      const std::optional<ByteRange> content = rendered.message(i);
      const auto around = std::ranges::find_if(
          generated, [&](const ByteRange& one) { return content && one.first <= content->first && content->last <= one.last; });
      if (is_scored(i) && around != generated.end()) {
        ranges.push_back(*around);
      }
    }
    return {rendered.text(std::move(ranges))};
  }
  // Score each answer as the template writes it when it is the last message.
  struct Part {
    Rendered text;
    ByteRange scored;
  };
  std::vector<Part> parts;
  bool is_one_text = true;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (!is_scored(i)) {
      continue;
    }
    Rendered text = i + 1 == messages.size() ? rendered : render(whole, i + 1, false);
    ByteRange range;
    if (messages[i].role == "assistant") {
      range = answer_in(text, whole, i);
    } else if (const std::optional<ByteRange> content = text.message(i)) {
      range = {.first = content->first, .last = special_after(text, content->last).value_or(*content).last};
    }
    const std::string_view written =
        std::string_view(text.bytes()).substr(static_cast<std::size_t>(range.first), static_cast<std::size_t>(range.last - range.first));
    require_all_written(messages[i], written, i + 1);
    is_one_text =
        is_one_text && rendered.bytes().starts_with(std::string_view(text.bytes()).substr(0, static_cast<std::size_t>(range.last)));
    parts.push_back({std::move(text), range});
  }
  // Use one text if the whole conversation has the answers as they are scored.
  std::vector<ChatText> texts;
  if (is_one_text) {
    std::vector<ByteRange> ranges;
    for (const Part& part : parts) {
      ranges.push_back(part.scored);
    }
    texts.push_back(rendered.text(std::move(ranges)));
  } else {
    for (const Part& part : parts) {
      texts.push_back(part.text.text({part.scored}));
    }
  }
  return texts;
}

ChatTemplate chat_template(TemplateName name, const Tokenizer& tokenizer, const std::string& own, ChatVariables variables) {
  if (name == TemplateName::own || (name == TemplateName::auto_ && !own.empty())) {
    require_input(!own.empty(),
                  "chat.template is \"own\", but chat.jinja is empty; expected the text of a template, or chat.template = \"auto\"");
    return {TemplateName::own, own, tokenizer, std::move(variables)};
  }
  const TemplateName chosen = name == TemplateName::auto_ ? fitting_template(tokenizer) : name;
  return {chosen, built_in_template(chosen, tokenizer), tokenizer, std::move(variables)};
}

ChatTokens encode(const Tokenizer& tokenizer, const ChatText& chat) {
  const std::string_view text = chat.text;
  ChatTokens all;
  // Encode a part of the text with the markup in it.
  const auto tokens_of = [&](index first, index last) {
    std::vector<ByteRange> markup;
    for (const ByteRange& range : chat.markup) {
      if (const index from = std::max(range.first, first), to = std::min(range.last, last); from < to) {
        markup.push_back({.first = from - first, .last = to - first});
      }
    }
    return tokenizer.encode_with_markup(text.substr(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first)), markup);
  };
  const auto add_tokens = [&](std::span<const Token> tokens, std::size_t scored) {
    all.tokens.insert(all.tokens.end(), tokens.begin(), tokens.end());
    all.scored.insert(all.scored.end(), scored, true);
    all.scored.insert(all.scored.end(), tokens.size() - scored, false);
  };
  // Encode the text before the first scored part, then each scored part with the text up to the next one.
  const auto size = static_cast<index>(text.size());
  const index first_scored = chat.scored.empty() ? size : chat.scored.front().first;
  add_tokens(tokens_of(0, first_scored), 0);
  for (std::size_t i = 0; i < chat.scored.size(); ++i) {
    const auto [first, last] = chat.scored[i];
    const index next = i + 1 < chat.scored.size() ? chat.scored[i + 1].first : size;
    // A scored part usually ends with a special token, so the text after it changes none of its tokens.
    const std::vector<Token> scored = tokens_of(first, last);
    const std::vector<Token> with_rest = tokens_of(first, next);
    if (scored.size() <= with_rest.size() && std::equal(scored.begin(), scored.end(), with_rest.begin())) {
      add_tokens(with_rest, scored.size());
    } else {
      add_tokens(scored, scored.size());
      add_tokens(tokens_of(last, next), 0);
    }
  }
  return all;
}

std::vector<ChatTokens> encode(const Tokenizer& tokenizer, const ChatTemplate& form, const Conversation& conversation, ScoredText scored) {
  std::vector<ChatTokens> examples;
  if (conversation.messages.empty()) {
    examples.push_back(encode_text(tokenizer, conversation.text));
  } else {
    for (const ChatText& text : form.learn(conversation, scored)) {
      examples.push_back(encode(tokenizer, text));
    }
  }
  if (!conversation.learn) {
    for (ChatTokens& example : examples) {
      example.scored.assign(example.scored.size(), false);
    }
  }
  return examples;
}

}  // namespace dikkat
