#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/base/names.h"
#include "train/chat/conversation.h"
#include "train/choices/chat.h"
#include "train/text/tokenizer.h"

namespace dikkat {

namespace jinja {
class Value;
}

/// The text of a conversation.
struct ChatText {
  std::string text{};
  std::vector<ByteRange> markup{};  // written by the template: names of special tokens there become these tokens
  std::vector<ByteRange> scored{};  // covered by the loss
};

/// The inputs of a template besides the messages.
struct ChatVariables {
  std::string system{};  // the system message of conversations without one; empty: none
  std::string date{};    // what strftime_now() prints: "2026-03-09" or "2026-03-09 14:05"; empty: 1970-01-01
  std::string others{};  // a JSON object of more variables, such as {"enable_thinking": false}; empty: none
  ContentParts parts = ContentParts::by_template;
};

/// A chat template: a program in the Jinja language that writes a conversation as one text. Immutable: threads may share a template.
class ChatTemplate {
 public:
  /// Throws jinja::TemplateError (an InputError) for a text that is not a template. Its message continues "the chat template in FILE".
  ChatTemplate(TemplateName name, const std::string& source, const Tokenizer& tokenizer, ChatVariables variables = {});

  /// The built-in template's name, or `own`.
  TemplateName name() const { return name_; }
  const std::string& system() const { return variables_.system; }
  /// Returns this template with another system message.
  ChatTemplate with_system(const std::string& system) const;
  /// Returns the template in the Jinja language, with the system message, for files of other programs.
  std::string jinja() const;

  /// Returns the text that asks for an answer: the conversation, and then the beginning of an answer. Throws InputError if the template
  /// refuses the messages, and if it drops something that the conversation has.
  ChatText ask(const Conversation& conversation) const;
  ChatText ask(std::span<const Message> messages) const;
  /// Returns the text of a conversation without any check; with `asks`, the beginning of an answer follows. Throws TemplateError.
  std::string text(const Conversation& conversation, bool asks) const;
  /// Returns whether a word occurs in the template: a variable that it reads, or a mark that it writes.
  bool mentions(std::string_view word) const;

  /// Returns the texts on which a conversation is learned. This is one text, unless the template writes an answer otherwise once others
  /// follow it (Qwen 3 drops its reasoning): then there is a text for each scored answer. Throws InputError as ask() does.
  std::vector<ChatText> learn(const Conversation& conversation, ScoredText scored) const;

  /// Returns the token that ends an answer, if the template ends answers with one token.
  std::optional<Token> end_token() const { return end_; }
  /// Returns the name of this token, and of the tokenizer's begin token; empty if there is none.
  std::string end_text() const;
  std::string begin_text() const;

 private:
  struct Program;
  class Rendered;
  jinja::Value variables_for(const Conversation& conversation, std::size_t count, bool asks, bool arguments_as_text) const;
  Rendered render(const Conversation& conversation, std::size_t count, bool asks) const;
  std::optional<ByteRange> special_after(const Rendered& rendered, index at, bool has_calls = false) const;
  ByteRange answer_in(const Rendered& rendered, const Conversation& conversation, std::size_t message) const;
  void require_all_written(const Message& message, std::string_view written, std::size_t number) const;
  std::vector<ByteRange> all_but_untrained(const Rendered& rendered, std::span<const Message> messages) const;

  TemplateName name_;
  ChatVariables variables_;
  std::shared_ptr<const Program> program_;
  std::optional<Token> end_;
};

/// Returns a template by its name: a built-in one, the built-in one that fits the tokenizer (auto), or the one in `own`. Throws InputError
/// if the tokenizer lacks a token that the template needs, and jinja::TemplateError as the constructor does.
ChatTemplate chat_template(TemplateName name, const Tokenizer& tokenizer, const std::string& own = "", ChatVariables variables = {});

/// Tokens, each with whether it is scored.
struct ChatTokens {
  std::vector<Token> tokens{};
  std::vector<bool> scored{};
};

/// Returns the tokens of a text. Scored parts are encoded separately from the text before them, so the tokens of a prompt do not depend on
/// the answer. Throws EncodeError.
ChatTokens encode(const Tokenizer& tokenizer, const ChatText& text);

/// Returns the tokens of the texts on which an example is learned. The example is a conversation in the template, or a text between the
/// tokenizer's begin and end tokens, all of it scored. Marks in the data (Message::learn, Conversation::learn) override `scored`.
std::vector<ChatTokens> encode(const Tokenizer& tokenizer, const ChatTemplate& form, const Conversation& conversation, ScoredText scored);

}  // namespace dikkat
