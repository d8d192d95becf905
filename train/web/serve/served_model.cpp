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

std::vector<Token> encoded(const ServedModel& model, const ApiRequest& request) {
  if (request.endpoint == Endpoint::chat) {
    const ChatText text = conversation_text(model, request);
    try {
      return encode(model.tokenizer, text).tokens;
    } catch (const InputError& error) {
      throw refused_conversation(error);
    }
  }
  try {
    return request.prompt.empty() ? default_prompt(model.tokenizer) : encode_prompt(model.tokenizer, request.prompt, request.special_names);
  } catch (const InputError& error) {
    throw ApiError(400, error.what(), "prompt", "invalid_value");
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

std::vector<Token> prompt_tokens(const ServedModel& model, const ApiRequest& request) {
  require_known_tokens(model, request.options.logit_bias);
  std::vector<Token> tokens = encoded(model, request);
  if (std::ssize(tokens) >= model.context()) {
    const bool is_chat = request.endpoint == Endpoint::chat;
    const char* const what = !is_chat                     ? "the prompt has "
                             : request.tools.text.empty() ? "the messages have "
                                                          : "the messages and tools have ";
    throw ApiError(400,
                   concat(what, tokens.size(), " tokens, expected fewer than the model's context of ", model.context(),
                          is_chat ? ": leave out the oldest" : ": shorten it"),
                   is_chat ? "messages" : "prompt", "context_length_exceeded");
  }
  return tokens;
}

index most_tokens(const ServedModel& model, const ApiRequest& request, index prompt_tokens) {
  const index room = model.context() - prompt_tokens;
  constexpr index kTextByDefault = 16;
  return std::min(room, request.max_tokens.value_or(request.endpoint == Endpoint::completions ? kTextByDefault : room));
}

}  // namespace dikkat::serve
