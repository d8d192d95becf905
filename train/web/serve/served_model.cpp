#include "train/web/serve/served_model.h"

#include <algorithm>

#include "train/sample/prompt.h"
#include "train/web/serve/api_error.h"
#include "train/web/serve/chat_form.h"

namespace dikkat {
namespace {

std::vector<Token> encoded(const ServedModel& model, const ApiRequest& request) {
  const bool is_chat = request.endpoint == Endpoint::chat;
  if (is_chat && !model.form) {
    throw ApiError(400, concat("this model takes no conversations: ", model.why_no_form, "; /v1/completions continues texts"), "messages",
                   "no_chat_template");
  }
  try {
    if (is_chat) {
      return encode(model.tokenizer, model.form->ask(conversation_of(model, request))).tokens;
    }
    return request.prompt.empty() ? default_prompt(model.tokenizer) : encode_prompt(model.tokenizer, request.prompt);
  } catch (const InputError& error) {
    throw ApiError(400, is_chat ? concat("the conversation cannot be encoded: ", error.what()) : error.what(),
                   is_chat ? "messages" : "prompt", "invalid_value");
  }
}

}  // namespace

std::vector<Token> prompt_tokens(const ServedModel& model, const ApiRequest& request) {
  std::vector<Token> tokens = encoded(model, request);
  if (std::ssize(tokens) >= model.context()) {
    const bool is_chat = request.endpoint == Endpoint::chat;
    throw ApiError(
        400,
        concat(is_chat ? "the messages have " : "the prompt has ", tokens.size(), " tokens, expected fewer than the model's context of ",
               model.context(), is_chat ? ": leave out the oldest" : ": shorten it"),
        is_chat ? "messages" : "prompt", "context_length_exceeded");
  }
  return tokens;
}

index most_tokens(const ServedModel& model, const ApiRequest& request, index prompt_tokens) {
  const index room = model.context() - prompt_tokens;
  constexpr index kTextByDefault = 16;
  return std::min(room, request.max_tokens.value_or(request.endpoint == Endpoint::completions ? kTextByDefault : room));
}

}  // namespace dikkat
