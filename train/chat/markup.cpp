#include "train/chat/markup.h"

namespace dikkat {

ChatText chat_text(const jinja::MarkedText& text) {
  ChatText all{.text = text.bytes()};
  index begin = 0;
  for (const jinja::TextPart& part : text.parts()) {
    const auto end = static_cast<index>(part.end);
    if (part.origin == jinja::kFromTemplate) {
      if (!all.markup.empty() && all.markup.back().last == begin) {
        all.markup.back().last = end;
      } else {
        all.markup.push_back({.first = begin, .last = end});
      }
    }
    begin = end;
  }
  return all;
}

std::vector<std::pair<std::string, std::string>> special_names(const Tokenizer& tokenizer) {
  const TextTokens tokens = tokenizer.text_tokens();
  std::vector<std::pair<std::string, std::string>> names;
  const auto add = [&](const char* name, std::optional<Token> id) {
    if (id) {
      names.emplace_back(name, tokenizer.decode({&*id, 1}));
    }
  };
  add("bos_token", tokens.bos ? tokens.bos : tokens.before);
  add("eos_token", tokens.eos ? tokens.eos : tokenizer.separator());
  return names;
}

}  // namespace dikkat
