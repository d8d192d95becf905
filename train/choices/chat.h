#pragma once

#include <string_view>

#include "autograd/base/names.h"

namespace dikkat {

/// The template in which a conversation is written as one text. auto: the model's own, or else the built-in one that fits the tokenizer.
/// own: the model's own, whose text is kept with the run.
enum class TemplateName { auto_, chatml, llama3, plain, own };
template <>
struct Names<TemplateName> {
  static constexpr std::string_view of[] = {"auto", "chatml", "llama3", "plain", "own"};
};

/// The scored tokens: the answers with their end tokens, only the last answer, or everything.
enum class ScoredText { answers, last_answer, all };
template <>
struct Names<ScoredText> {
  static constexpr std::string_view of[] = {"answers", "last_answer", "all"};
};

/// The reading of a message's content that is a list of text parts. by_template: the list, if the template handles lists in messages of
/// this role; otherwise one text, with a line break between parts. glued: one text without a separator, which is the reading of older runs.
enum class ContentParts { by_template, glued };
template <>
struct Names<ContentParts> {
  static constexpr std::string_view of[] = {"by_template", "glued"};
};

}  // namespace dikkat
