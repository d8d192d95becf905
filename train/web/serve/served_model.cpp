#include "train/web/serve/served_model.h"

#include <algorithm>

#include "train/sample/prompt.h"
#include "train/web/serve/api_error.h"
#include "train/web/serve/served_chat.h"

namespace dikkat::serve {
namespace {

ApiError refused_conversation(const InputError& error) {
  return {400, concat("the conversation cannot be encoded: ", error.what()), "messages", "invalid_value"};
}

std::vector<Token> tokens_of_conversation(const ServedModel& model, const ApiRequest& request) {
  const ChatText text = conversation_text(model, request);
  try {
    return encode(model.tokenizer, text).tokens;
  } catch (const InputError& error) {
    throw refused_conversation(error);
  }
}

/// `name` is the prompt's name in errors.
std::vector<Token> tokens_of_prompt(const ServedModel& model, const ApiPrompt& prompt, SpecialNames names, const std::string& name) {
  if (prompt.tokens) {
    const index size = model.tokenizer.vocab_size();
    for (std::size_t i = 0; i < prompt.tokens->size(); ++i) {
      if ((*prompt.tokens)[i] >= size) {
        throw ApiError(400, concat(name, '[', i, "] is ", (*prompt.tokens)[i], ", expected the id of a token, 0 to ", size - 1), "prompt",
                       "invalid_value");
      }
    }
    return *prompt.tokens;
  }
  try {
    return prompt.text.empty() ? default_prompt(model.tokenizer) : encode_prompt(model.tokenizer, prompt.text, names);
  } catch (const InputError& error) {
    throw ApiError(400, name == "prompt" ? error.what() : concat(name, ": ", error.what()), "prompt", "invalid_value");
  }
}

/// Throws ApiError if a prompt of this many tokens leaves no room for an answer.
void require_room(const ServedModel& model, const ApiRequest& request, index tokens, const std::string& name) {
  const bool is_chat = request.endpoint == Endpoint::chat, needs_room = request.max_tokens != 0;
  if (tokens < model.context() || (tokens == model.context() && !needs_room)) {
    return;
  }
  const std::string what = !is_chat                     ? concat(name, " has ")
                           : request.tools.text.empty() ? "the messages have "
                                                        : "the messages and tools have ";
  throw ApiError(400,
                 concat(what, tokens, " tokens, expected ", needs_room ? "fewer than" : "at most", " the model's context of ",
                        model.context(), is_chat ? ": leave out the oldest" : ": shorten it"),
                 is_chat ? "messages" : "prompt", "context_length_exceeded");
}

/// Throws ApiError if a response to several prompts, or with their scores, may have more log probabilities than fit into memory.
void require_few_scores(const ServedModel& model, const ApiRequest& request, const std::vector<std::vector<Token>>& prompts) {
  constexpr index kMostScores = 1 << 19;
  if (!request.alternatives || (prompts.size() == 1 && !request.scores_prompts())) {
    return;
  }
  index tokens = 0;
  for (const std::vector<Token>& prompt : prompts) {
    tokens += (request.scores_prompts() ? std::ssize(prompt) : 0) + most_tokens(model, request, std::ssize(prompt));
  }
  const index each = *request.alternatives + 1, all = tokens * request.options.num_samples * each;
  if (all > kMostScores) {
    throw ApiError(400,
                   concat("the response may have ", all, " log probabilities, ", each, " for each token, expected at most ", kMostScores,
                          ": send fewer prompts in a request, or lower logprobs, max_tokens or n"),
                   "prompt", "invalid_value");
  }
}

void require_known_tokens(const ServedModel& model, const std::vector<LogitBias>& biases) {
  const index size = model.tokenizer.vocab_size();
  for (const auto& [token, bias] : biases) {
    if (token >= size) {
      throw ApiError(400, concat("logit_bias has token ", token, ", expected the id of a token, 0 to ", size - 1), "logit_bias",
                     "invalid_value");
    }
  }
}

}  // namespace

const ServedModel& model_named(const std::vector<ServedModel>& models, const std::string& name) {
  const auto found = std::ranges::find(models, name, &ServedModel::name);
  require(found != models.end(), "serve: no model is named ", name, ", expected one of those that are served");
  return *found;
}

std::vector<std::string> names_of(const std::vector<ServedModel>& models) {
  std::vector<std::string> names;
  for (const ServedModel& model : models) {
    names.push_back(model.name);
  }
  return names;
}

ChatText conversation_text(const ServedModel& model, const ApiRequest& request) {
  if (!model.form) {
    throw ApiError(400, concat("this model takes no conversations: ", model.why_no_form, "; /v1/completions continues texts"), "messages",
                   "no_chat_template");
  }
  try {
    return model.form->ask(conversation_of(model, request));
  } catch (const InputError& error) {
    throw refused_conversation(error);
  }
}

std::vector<std::vector<Token>> prompt_tokens(const ServedModel& model, const ApiRequest& request) {
  require_known_tokens(model, request.options.logit_bias);
  std::vector<std::vector<Token>> all;
  if (request.endpoint == Endpoint::chat) {
    all.push_back(tokens_of_conversation(model, request));
    require_room(model, request, std::ssize(all.back()), "");
  }
  for (std::size_t i = 0; i < request.prompts.size(); ++i) {
    const std::string name = request.prompts.size() == 1 ? "prompt" : concat("prompt[", i, ']');
    all.push_back(tokens_of_prompt(model, request.prompts[i], request.special_names, name));
    require_room(model, request, std::ssize(all.back()), name);
  }
  require_few_scores(model, request, all);
  return all;
}

index most_tokens(const ServedModel& model, const ApiRequest& request, index prompt_tokens) {
  const index room = model.context() - prompt_tokens;
  constexpr index kTextByDefault = 16;
  return std::min(room, request.max_tokens.value_or(request.endpoint == Endpoint::completions ? kTextByDefault : room));
}

}  // namespace dikkat::serve
