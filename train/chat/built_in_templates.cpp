#include "train/chat/built_in_templates.h"

#include <algorithm>

#include "autograd/base/error.h"

namespace dikkat {
namespace {

bool has_tokens(const Tokenizer& tokenizer, std::initializer_list<std::string_view> names) {
  const auto special = tokenizer.special_tokens();
  return std::ranges::all_of(names, [&](std::string_view name) {
    return std::ranges::any_of(special, [&](const SpecialToken& token) { return token.name == name; });
  });
}

bool has_chatml(const Tokenizer& tokenizer) { return has_tokens(tokenizer, {"<|im_start|>", "<|im_end|>"}); }
bool has_llama3(const Tokenizer& tokenizer) {
  return has_tokens(tokenizer, {"<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"});
}

/// A template in which each message is before_role ROLE after_role CONTENT end.
struct Form {
  std::string begin{};                      // the text before the first message
  std::string before_role{}, after_role{};  // the text around the role
  bool capitalizes = false;                 // whether the role is capitalized: "User"
  bool trims = false;                       // whether white space around a message is removed
  std::string end{};
};

std::string quoted(const std::string& text) {
  std::string in_jinja = "'";
  for (const char c : text) {
    if (c == '\n') {
      in_jinja += "\\n";
    } else {
      if (c == '\'' || c == '\\') {
        in_jinja += '\\';
      }
      in_jinja += c;
    }
  }
  return in_jinja + '\'';
}

std::string program_of(const Form& form) {
  return concat(form.begin.empty() ? "" : concat("{{ ", quoted(form.begin), " }}"), "{% for message in messages %}{{ ",
                quoted(form.before_role), " + (", form.capitalizes ? "message['role'] | capitalize" : "message['role']", ") + ",
                quoted(form.after_role), " + (", form.trims ? "message['content'] | trim" : "message['content']", ") + ", quoted(form.end),
                " }}{% endfor %}{% if add_generation_prompt %}{{ ",
                quoted(form.before_role + (form.capitalizes ? "Assistant" : "assistant") + form.after_role), " }}{% endif %}");
}

std::string name_of_token(const Tokenizer& tokenizer, Token id) { return tokenizer.decode(std::span(&id, 1)); }

/// Returns the form for a tokenizer without chat tokens: roles are words, and the tokenizer's end of text ends a message.
Form plain(const Tokenizer& tokenizer) {
  const TextTokens tokens = tokenizer.text_tokens();
  const std::optional<Token> end = tokens.eos ? tokens.eos : tokenizer.separator();
  require_input(end.has_value(), "conversations need a tokenizer with a token that ends a text, and a ", tokenizer.kind(),
                " tokenizer has none: train with tokenizer.kind = \"bpe\", or start from another model");
  return {.begin = tokens.before ? name_of_token(tokenizer, *tokens.before) : "",
          .after_role = ":\n",
          .capitalizes = true,
          .end = name_of_token(tokenizer, *end) + "\n"};
}

}  // namespace

TemplateName fitting_template(const Tokenizer& tokenizer) {
  return has_chatml(tokenizer) ? TemplateName::chatml : has_llama3(tokenizer) ? TemplateName::llama3 : TemplateName::plain;
}

std::string built_in_template(TemplateName name, const Tokenizer& tokenizer) {
  const auto require_tokens = [&](bool has, const char* names) {
    require_input(has, "chat.template is \"", name_of(name), "\", but the tokenizer has no special tokens ", names,
                  "; expected \"plain\", which needs none, or a model whose tokenizer has them");
  };
  switch (name) {
    case TemplateName::chatml:
      require_tokens(has_chatml(tokenizer), "<|im_start|> and <|im_end|>");
      return program_of({.before_role = "<|im_start|>", .after_role = "\n", .end = "<|im_end|>\n"});
    case TemplateName::llama3:
      require_tokens(has_llama3(tokenizer), "<|begin_of_text|>, <|start_header_id|>, <|end_header_id|> and <|eot_id|>");
      return program_of({.begin = "<|begin_of_text|>",
                         .before_role = "<|start_header_id|>",
                         .after_role = "<|end_header_id|>\n\n",
                         .trims = true,
                         .end = "<|eot_id|>"});
    case TemplateName::plain: return program_of(plain(tokenizer));
    default: fail("chat template: ", name_of(name), " is not built in");
  }
}

}  // namespace dikkat
