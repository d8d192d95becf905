#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/base/names.h"
#include "train/text/chat/conversation.h"
#include "train/text/tokenizer.h"

namespace dikkat {

/// The format in which a conversation is written as one text.
enum class TemplateName { auto_, chatml, llama3, plain };
template <>
struct Names<TemplateName> {
  static constexpr std::string_view of[] = {"auto", "chatml", "llama3", "plain"};
};

/// The scored tokens: the answers with their end tokens, only the last answer, or everything.
enum class ScoredText { answers, last_answer, all };
template <>
struct Names<ScoredText> {
  static constexpr std::string_view of[] = {"answers", "last_answer", "all"};
};

/// A part of a conversation's text.
struct ChatSpan {
  std::string text;
  bool is_markup = false;  // whether names of special tokens in it become these tokens, because the template wrote them
  bool is_scored = false;  // whether the loss covers it

  bool operator==(const ChatSpan&) const = default;
};

/// A template. Each message is before_role ROLE after_role CONTENT end after_end.
struct ChatTemplate {
  TemplateName name = TemplateName::plain;
  std::string begin{};                      // before the first message
  std::string before_role{}, after_role{};  // around the role
  bool capitalizes = false;                 // whether the role is capitalized: "User"
  bool trims = false;                       // whether white space around a message is removed
  std::string end{};                        // ends a message; after an answer it is scored, and it ends a generated answer
  std::string after_end{};
  std::string system{};  // the system message for conversations without one; empty: none

  /// Returns the text of a conversation, span by span. With `asks`, it ends with the beginning of an answer.
  std::vector<ChatSpan> write(std::span<const Message> messages, ScoredText scored = ScoredText::answers, bool asks = false) const;
  /// Returns the token that ends an answer, if `end` is one token.
  std::optional<Token> end_token(const Tokenizer& tokenizer) const;
  /// Returns the template in the Jinja language, for tokenizer_config.json and GGUF files.
  std::string jinja() const;
};

/// Returns a template for this tokenizer. `auto_` means ChatML or Llama 3's if the tokenizer has their tokens, otherwise plain. Throws
/// InputError if the tokenizer lacks a token that the template needs.
ChatTemplate chat_template(TemplateName name, const Tokenizer& tokenizer);

/// Returns the template with this text in the Jinja language, including its system message; nullopt if it is not known.
std::optional<ChatTemplate> known_template(std::string_view jinja, const Tokenizer& tokenizer);

/// Returns the known template. Throws InputError if it is not known: the message says `where` it is from, and `how` to choose a template.
ChatTemplate known_template(std::string_view jinja, const Tokenizer& tokenizer, const std::string& where, const char* how);

/// Tokens, each with whether it is scored.
struct ChatTokens {
  std::vector<Token> tokens{};
  std::vector<bool> scored{};
};

/// Returns the tokens of spans. Each span is encoded separately, so the tokens of a prompt do not depend on the answer. Throws EncodeError.
ChatTokens encode(const Tokenizer& tokenizer, std::span<const ChatSpan> spans);

/// Returns the tokens of an example: a conversation in the template, or a text between the tokenizer's begin and end tokens, all of it
/// scored. Marks in the data (Message::learn, Conversation::learn) override `scored`.
ChatTokens encode(const Tokenizer& tokenizer, const ChatTemplate& form, const Conversation& conversation, ScoredText scored);

}  // namespace dikkat
