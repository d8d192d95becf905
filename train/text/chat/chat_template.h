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

/// How a conversation is written as one text.
enum class TemplateName { auto_, chatml, llama3, plain };
template <>
struct Names<TemplateName> {
  static constexpr std::string_view of[] = {"auto", "chatml", "llama3", "plain"};
};

/// What the loss is over: the answers with their end tokens, the last of them alone, or everything.
enum class ScoredText { answers, last_answer, all };
template <>
struct Names<ScoredText> {
  static constexpr std::string_view of[] = {"answers", "last_answer", "all"};
};

/// A part of a conversation's text.
struct ChatSpan {
  std::string text;
  bool is_markup = false;  // of the template: the names of special tokens in it are these tokens. Otherwise they are ordinary text
  bool is_scored = false;  // whether the loss is over it

  bool operator==(const ChatSpan&) const = default;
};

/// A template: each message is before_role ROLE after_role CONTENT end after_end.
struct ChatTemplate {
  TemplateName name = TemplateName::plain;
  std::string begin{};                      // before the first message
  std::string before_role{}, after_role{};  // around the role
  bool capitalizes = false;                 // the role: "User"
  bool trims = false;                       // white space around a message
  std::string end{};                        // ends a message; an answer's is learnt, and ends what a model writes
  std::string after_end{};
  std::string system{};  // the system message of a conversation without one; empty: none

  /// The text of a conversation, span by span. With `asks`, it ends with the beginning of an answer.
  std::vector<ChatSpan> write(std::span<const Message> messages, ScoredText scored = ScoredText::answers, bool asks = false) const;
  /// The token that ends an answer, if `end` is one token.
  std::optional<Token> end_token(const Tokenizer& tokenizer) const;
  /// The template in Jinja's language, for tokenizer_config.json and GGUF files.
  std::string jinja() const;
};

/// A known template for this tokenizer. `auto_`: ChatML or Llama 3's if the tokenizer has their tokens, else plain. Throws InputError
/// if the tokenizer lacks a token that the template needs.
ChatTemplate chat_template(TemplateName name, const Tokenizer& tokenizer);

/// The template whose text in Jinja's language this is, with its system message; nullopt if it is none that we know.
std::optional<ChatTemplate> known_template(std::string_view jinja, const Tokenizer& tokenizer);

/// The same. Throws InputError for one that we do not know: it names `where` the text is from, and `how` to name a template instead.
ChatTemplate known_template(std::string_view jinja, const Tokenizer& tokenizer, const std::string& where, const char* how);

/// Tokens, and for each whether the loss is over it.
struct ChatTokens {
  std::vector<Token> tokens{};
  std::vector<bool> scored{};
};

/// The tokens of spans. A span is encoded by itself, so the tokens of a prompt are the same whatever the answer is. Throws EncodeError.
ChatTokens encode(const Tokenizer& tokenizer, std::span<const ChatSpan> spans);

/// An example: a conversation in the template, or a text between the tokenizer's begin and end tokens, all of it scored. Where the data
/// says what is to be learnt (Message::learn, Conversation::learn), that counts instead of `scored`.
ChatTokens encode(const Tokenizer& tokenizer, const ChatTemplate& form, const Conversation& conversation, ScoredText scored);

}  // namespace dikkat
