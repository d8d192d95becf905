#include "train/web/serve/answer_constraints.h"

#include <algorithm>

#include "train/sample/prompt.h"
#include "train/web/serve/answer_grammar.h"
#include "train/web/serve/api_error.h"
#include "train/web/serve/chat_form.h"

namespace dikkat {
namespace {

constexpr std::size_t kMostGrammars = 8;

/// Returns what decides the grammar of a request.
std::string key_of(const ApiRequest& request, const AnswerRules& rules) {
  std::string key = concat(static_cast<int>(request.endpoint), static_cast<int>(request.tools.choice), request.tools.several,
                           rules.begins_in_reasoning, rules.reasons ? static_cast<int>(*rules.reasons) : 2,
                           static_cast<int>(request.structure.kind), request.structure.text.size(), ' ', request.structure.text);
  for (const Tool& tool : request.tools.tools) {
    key += concat('\n', tool.name, ' ', tool.parameters);
  }
  return key;
}

/// Returns the special tokens that are part of the text of an answer: marks of reasoning and calls.
std::vector<Token> marks_of(const ServedModel& model) {
  const AnswerForm& form = model.answers;
  std::string text = form.think_begin + '\n' + form.think_end;
  if (form.calls) {
    text += concat('\n', form.calls->open, '\n', form.calls->before, '\n', form.calls->between, '\n', form.calls->after, '\n',
                   form.calls->separator, '\n', form.calls->close, '\n', form.calls->begin.empty() ? python_tag() : "");
  }
  std::vector<Token> marks;
  for (const SpecialToken& token : model.tokenizer.special_tokens()) {
    if (!token.name.empty() && text.find(token.name) != std::string::npos) {
      marks.push_back(token.id);
    }
  }
  return marks;
}

}  // namespace

std::shared_ptr<const TokenTrie> AnswerConstraints::trie() {
  const std::lock_guard lock(mutex_);
  if (!trie_) {
    trie_ = std::make_shared<const TokenTrie>(model_.tokenizer, marks_of(model_));
  }
  return trie_;
}

AnswerConstraints::Factory AnswerConstraints::of(const ApiRequest& request, std::span<const Token> prompt) {
  const bool is_chat = request.endpoint == Endpoint::chat;
  if (request.tools.choice == ToolChoice::none && request.structure.kind == StructuredRequest::Kind::any) {
    return {};
  }
  // A grammar of an earlier request.
  AnswerRules rules{.tools = request.tools,
                    .begins_in_reasoning = is_chat && begins_in_reasoning(model_.answers, end_of_prompt(model_, prompt)),
                    .reasons = request.reasoning.is_on};
  const std::string key = key_of(request, rules);
  {
    const std::lock_guard lock(mutex_);
    const auto known = std::ranges::find(grammars_, key, &std::pair<std::string, std::shared_ptr<const TokenGrammar>>::first);
    if (known != grammars_.end()) {
      grammars_.splice(grammars_.begin(), grammars_, known);
      return known->second->constraints();
    }
  }
  // A new one.
  rules.content = content_grammar(request.structure);
  const std::optional<Grammar> grammar = is_chat ? answer_grammar(model_.answers, rules) : rules.content;
  if (!grammar) {
    return {};
  }
  std::vector<Token> ends = vocabulary_of(model_.tokenizer).ends;
  if (const auto end = is_chat ? model_.form->end_token() : std::nullopt) {
    ends.push_back(*end);
  }
  try {
    // One at a time, so that many clients cannot take all processors and much memory.
    const std::lock_guard turn(making_);
    const auto made = std::make_shared<const TokenGrammar>(*grammar, trie(), std::move(ends));
    const std::lock_guard lock(mutex_);
    grammars_.emplace_front(key, made);
    if (grammars_.size() > kMostGrammars) {
      grammars_.pop_back();
    }
    return made->constraints();
  } catch (const InputError& error) {
    const std::string field = rules.content ? request.structure.field : "tools";
    throw ApiError(400, concat(field, " cannot be used: ", error.what()), field, "invalid_value");
  }
}

}  // namespace dikkat
