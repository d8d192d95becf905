#include "train/web/serve/answer_constraints.h"

#include <algorithm>
#include <chrono>

#include "train/sample/prompt.h"
#include "train/system/machine_memory.h"
#include "train/web/serve/api_error.h"
#include "train/web/serve/served_chat.h"

namespace dikkat::serve {
namespace {

constexpr std::size_t kMostGrammars = 8;

/// Returns a key of all that decides the grammar of a request.
std::string key_of(const ApiRequest& request, const AnswerRules& rules) {
  std::string key = concat(static_cast<int>(request.endpoint), static_cast<int>(request.tools.choice), request.tools.several,
                           rules.begins_in_reasoning, rules.reasons ? static_cast<int>(*rules.reasons) : 2,
                           static_cast<int>(request.structure.kind), request.structure.text.size(), ' ', request.structure.text);
  for (const Tool& tool : request.tools.tools) {
    key += concat('\n', tool.name, ' ', tool.parameters);
  }
  return key;
}

}  // namespace

std::shared_ptr<const TokenTrie> AnswerConstraints::trie() {
  const std::lock_guard lock(mutex_);
  if (!trie_) {
    trie_ = std::make_shared<const TokenTrie>(model_.tokenizer, marks_of(model_));
  }
  return trie_;
}

std::shared_ptr<const TokenGrammar> AnswerConstraints::known(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(grammars_, key, &std::pair<std::string, std::shared_ptr<const TokenGrammar>>::first);
  if (found == grammars_.end()) {
    return nullptr;
  }
  grammars_.splice(grammars_.begin(), grammars_, found);
  return found->second;
}

std::shared_ptr<const TokenGrammar> AnswerConstraints::make(const ApiRequest& request, AnswerRules rules) {
  const bool is_chat = request.endpoint == Endpoint::chat;
  rules.content = content_grammar(request.structure, rules.on_progress);
  const std::string field = rules.content ? request.structure.field : "tools";
  const std::optional<Grammar> grammar = is_chat ? answer_grammar(model_.answers, rules) : rules.content;
  if (!grammar) {
    return nullptr;
  }
  std::vector<Token> ends = answer_vocabulary(model_.tokenizer, is_chat ? model_.form->end_token() : std::nullopt).ends;
  try {
    return std::make_shared<const TokenGrammar>(*grammar, trie(), std::move(ends), rules.on_progress);
  } catch (const GrammarTooLarge& error) {
    throw ApiError(400, concat(field, " cannot be used: ", error.what()), error.name().empty() ? field : error.name(), "invalid_value");
  } catch (const InputError& error) {
    throw ApiError(400, concat(field, " cannot be used: ", error.what()), field, "invalid_value");
  }
}

AnswerConstraints::Factory AnswerConstraints::of(const ApiRequest& request, std::span<const Token> prompt,
                                                 const std::function<void()>& on_progress) {
  constexpr auto kMoment = std::chrono::milliseconds(20);
  if (request.tools.choice == ToolChoice::none && request.structure.kind == StructuredRequest::Kind::any) {
    return {};
  }
  // Look for the grammar among those of earlier requests.
  const bool is_chat = request.endpoint == Endpoint::chat;
  AnswerRules rules{.tools = request.tools,
                    .begins_in_reasoning = is_chat && begins_in_reasoning(model_.answers, end_of_prompt(model_, prompt)),
                    .reasons = request.reasoning.is_on,
                    .on_progress = on_progress};
  const std::string key = key_of(request, rules);
  if (const auto grammar = known(key)) {
    return grammar->constraints();
  }
  // Wait for the turn to make one, and look again.
  std::unique_lock turn(making_, std::defer_lock);
  while (!turn.try_lock_for(kMoment)) {
    if (on_progress) {
      on_progress();
    }
  }
  if (const auto grammar = known(key)) {  // another request has made it meanwhile
    return grammar->constraints();
  }
  const FreeMemoryReturner at_end;
  // Make the grammar, and keep it.
  const auto made = make(request, std::move(rules));
  if (made == nullptr) {
    return {};
  }
  const std::lock_guard lock(mutex_);
  grammars_.emplace_front(key, made);
  if (grammars_.size() > kMostGrammars) {
    grammars_.pop_back();
  }
  return made->constraints();
}

}  // namespace dikkat::serve
