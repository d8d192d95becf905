#include "train/text/chat/chat_template.h"

#include <algorithm>

#include "autograd/base/error.h"
#include "train/system/sha256.h"

namespace dikkat {
namespace {

constexpr std::string_view kWhiteSpace = " \t\n\r\v\f";

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(kWhiteSpace);
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(kWhiteSpace) + 1 - first);
}

bool has_tokens(const Tokenizer& tokenizer, std::initializer_list<std::string_view> names) {
  const auto special = tokenizer.special_tokens();
  return std::ranges::all_of(names, [&](std::string_view name) {
    return std::ranges::any_of(special, [&](const SpecialToken& token) { return token.name == name; });
  });
}

std::string name_of_token(const Tokenizer& tokenizer, Token id) { return tokenizer.decode(std::span(&id, 1)); }

ChatTemplate chatml() {
  return {.name = TemplateName::chatml, .before_role = "<|im_start|>", .after_role = "\n", .end = "<|im_end|>", .after_end = "\n"};
}

ChatTemplate llama3() {
  return {.name = TemplateName::llama3,
          .begin = "<|begin_of_text|>",
          .before_role = "<|start_header_id|>",
          .after_role = "<|end_header_id|>\n\n",
          .trims = true,
          .end = "<|eot_id|>"};
}

/// Returns the template for a tokenizer without chat tokens: roles are words, and the tokenizer's end of text ends a message.
ChatTemplate plain(const Tokenizer& tokenizer) {
  const TextTokens tokens = tokenizer.text_tokens();
  const std::optional<Token> end = tokens.eos ? tokens.eos : tokenizer.separator();
  require_input(end.has_value(), "conversations need a tokenizer with a token that ends a text, and a ", tokenizer.kind(),
                " tokenizer has none: train with tokenizer.kind = \"bpe\", or start from another model");
  return {.name = TemplateName::plain,
          .begin = tokens.before ? name_of_token(tokenizer, *tokens.before) : "",
          .after_role = ":\n",
          .capitalizes = true,
          .end = name_of_token(tokenizer, *end),
          .after_end = "\n"};
}

std::string in_jinja(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\n') {
      quoted += "\\n";
    } else {
      if (c == '\'' || c == '\\') {
        quoted += '\\';
      }
      quoted += c;
    }
  }
  return quoted + '\'';
}

/// The SHA-256 of a template that a model comes with, the format that it writes, and the system message that it adds.
struct KnownTemplate {
  std::string_view sha256;
  TemplateName name;
  std::string_view system;
};
constexpr KnownTemplate kKnownTemplates[] = {
    // Qwen 2.5, Instruct
    {"cd8e9439f0570856fd70470bf8889ebd8b5d1107207f67a5efb46e342330527f", TemplateName::chatml,
     "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."},
    // Llama 3, Instruct
    {"b48c47f6443892716176eb200bf4ef108f64e06ca26ed0fa8ebc0a4b3992fcb2", TemplateName::llama3, ""},
};

/// Returns the tokens of a text between the tokenizer's begin and end tokens, all of it scored.
ChatTokens encode_text(const Tokenizer& tokenizer, const std::string& text) {
  const TextTokens around = tokenizer.text_tokens();
  ChatTokens all;
  const auto add = [&](std::span<const Token> tokens) {
    all.tokens.insert(all.tokens.end(), tokens.begin(), tokens.end());
    all.scored.insert(all.scored.end(), tokens.size(), true);
  };
  if (around.before) {
    add({&*around.before, 1});
  }
  add(tokenizer.encode(text));
  const std::optional<Token> end = around.eos ? around.eos : tokenizer.separator();
  if (end) {
    add({&*end, 1});
  }
  return all;
}

}  // namespace

std::vector<ChatSpan> ChatTemplate::write(std::span<const Message> messages, ScoredText scored, bool asks) const {
  std::vector<ChatSpan> spans;
  const auto header = [&](std::string role, bool is_scored) {
    if (capitalizes) {
      role.front() = static_cast<char>(role.front() - 'a' + 'A');
    }
    spans.push_back({.text = before_role + role + after_role, .is_markup = true, .is_scored = is_scored});
  };
  const auto message = [&](const std::string& role, const std::string& content, bool is_scored) {
    const bool is_markup_scored = is_scored && scored == ScoredText::all;
    header(role, is_markup_scored);
    spans.push_back({.text = trims ? trimmed(content) : content, .is_scored = is_scored});
    spans.push_back({.text = end, .is_markup = true, .is_scored = is_scored});
    if (!after_end.empty()) {
      spans.push_back({.text = after_end, .is_markup = true, .is_scored = is_markup_scored});
    }
  };
  if (!begin.empty()) {
    spans.push_back({.text = begin, .is_markup = true});
  }
  if (!system.empty() && (messages.empty() || messages.front().role != "system")) {
    message("system", system, scored == ScoredText::all);
  }
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const bool is_answer = messages[i].role == "assistant";
    const bool is_last = std::none_of(messages.begin() + static_cast<std::ptrdiff_t>(i) + 1, messages.end(),
                                      [](const Message& later) { return later.role == "assistant"; });
    const bool by_kind = scored == ScoredText::all || (is_answer && (scored == ScoredText::answers || is_last));
    message(messages[i].role, messages[i].content, messages[i].learn.value_or(by_kind));
  }
  if (asks) {
    header("assistant", scored == ScoredText::all);
  }
  return spans;
}

std::optional<Token> ChatTemplate::end_token(const Tokenizer& tokenizer) const {
  const std::vector<Token> tokens = tokenizer.encode_with_special(end);
  return tokens.size() == 1 ? std::optional(tokens.front()) : std::nullopt;
}

std::string ChatTemplate::jinja() const {
  const std::string role = capitalizes ? "message['role'] | capitalize" : "message['role']";
  const std::string content = trims ? "message['content'] | trim" : "message['content']";
  const auto one = [&](const std::string& the_role, const std::string& the_content) {
    return concat("{{ ", in_jinja(before_role), " + (", the_role, ") + ", in_jinja(after_role), " + (", the_content, ") + ",
                  in_jinja(end + after_end), " }}");
  };
  std::string text;
  if (!begin.empty()) {
    append_to(text, concat("{{ ", in_jinja(begin), " }}"));
  }
  if (!system.empty()) {
    append_to(text, concat("{% if not messages or messages[0]['role'] != 'system' %}",
                           one(in_jinja(capitalizes ? "System" : "system"), in_jinja(system)), "{% endif %}"));
  }
  append_to(text, concat("{% for message in messages %}", one(role, content), "{% endfor %}{% if add_generation_prompt %}{{ ",
                         in_jinja(before_role + (capitalizes ? "Assistant" : "assistant") + after_role), " }}{% endif %}"));
  return text;
}

ChatTemplate chat_template(TemplateName name, const Tokenizer& tokenizer) {
  const bool has_chatml = has_tokens(tokenizer, {"<|im_start|>", "<|im_end|>"});
  const bool has_llama3 = has_tokens(tokenizer, {"<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"});
  const auto require_tokens = [&](bool has, const char* names) {
    require_input(has, "chat.template is \"", name_of(name), "\", but the tokenizer has no special tokens ", names,
                  "; expected \"plain\", which needs none, or a model whose tokenizer has them");
  };
  switch (name) {
    case TemplateName::auto_: return has_chatml ? chatml() : has_llama3 ? llama3() : plain(tokenizer);
    case TemplateName::chatml: require_tokens(has_chatml, "<|im_start|> and <|im_end|>"); return chatml();
    case TemplateName::llama3:
      require_tokens(has_llama3, "<|begin_of_text|>, <|start_header_id|>, <|end_header_id|> and <|eot_id|>");
      return llama3();
    case TemplateName::plain: return plain(tokenizer);
  }
  fail("chat template: unknown name");
}

std::optional<ChatTemplate> known_template(std::string_view jinja, const Tokenizer& tokenizer) {
  const std::string hash = to_hex(sha256(jinja));
  for (const KnownTemplate& known : kKnownTemplates) {
    if (known.sha256 == hash) {
      ChatTemplate form = chat_template(known.name, tokenizer);
      form.system = known.system;
      return form;
    }
  }
  std::vector<ChatTemplate> own = {chatml(), llama3()};
  if (tokenizer.text_tokens().eos || tokenizer.separator()) {
    own.push_back(plain(tokenizer));
  }
  const auto found = std::ranges::find_if(own, [&](const ChatTemplate& form) { return form.jinja() == jinja; });
  return found == own.end() ? std::nullopt : std::optional(chat_template(found->name, tokenizer));
}

ChatTemplate known_template(std::string_view jinja, const Tokenizer& tokenizer, const std::string& where, const char* how) {
  const auto known = known_template(jinja, tokenizer);
  require_input(known.has_value(), "dikkat does not know the chat template in ", where, ": choose the most similar one", how);
  return *known;
}

ChatTokens encode(const Tokenizer& tokenizer, std::span<const ChatSpan> spans) {
  ChatTokens all;
  for (const ChatSpan& span : spans) {
    const std::vector<Token> tokens = span.is_markup ? tokenizer.encode_with_special(span.text) : tokenizer.encode(span.text);
    all.tokens.insert(all.tokens.end(), tokens.begin(), tokens.end());
    all.scored.insert(all.scored.end(), tokens.size(), span.is_scored);
  }
  return all;
}

ChatTokens encode(const Tokenizer& tokenizer, const ChatTemplate& form, const Conversation& conversation, ScoredText scored) {
  ChatTokens tokens = conversation.messages.empty() ? encode_text(tokenizer, conversation.text)
                                                    : encode(tokenizer, form.write(conversation.messages, scored));
  if (!conversation.learn) {
    tokens.scored.assign(tokens.scored.size(), false);
  }
  return tokens;
}

}  // namespace dikkat
