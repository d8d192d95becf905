// Fuzzes the body of a request of the completions protocol. An accepted request has values that the sampler takes; a refusal has the
// protocol's form.

#include <algorithm>

#include <nlohmann/json.hpp>

#include "tests/fuzz/fuzz.h"
#include "train/web/serve/api_response.h"

namespace dikkat {
using namespace serve;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input = fuzz::text_of(data, size);
  const auto endpoint = fuzz::choice(input, 2) == 0 ? Endpoint::completions : Endpoint::chat;
  ApiRequest request;
  try {
    request = read_api_request(input, endpoint, {"tiny"});
  } catch (const ApiError& error) {
    fuzz::hold(error.status() == 400 || error.status() == 404, "a refusal is the client's fault");
    const auto object = nlohmann::json::parse(error_json(error), nullptr, false);
    fuzz::hold(object.is_object() && !object["error"]["message"].get<std::string>().empty(), "a refusal is JSON and says something");
    return 0;
  }
  check(request.options);
  fuzz::hold(request.options.num_samples <= 8 && request.max_tokens.value_or(0) >= 0 && request.alternatives.value_or(0) <= 20,
             "numbers are bounded");
  fuzz::hold(request.stops.size() <= 16 && std::ranges::all_of(request.stops, [](const std::string& stop) { return !stop.empty(); }),
             "stop strings are few");
  fuzz::hold((endpoint == Endpoint::chat) == !request.messages.empty(), "a conversation has messages");
  fuzz::hold((endpoint == Endpoint::chat) == request.prompts.empty() &&
                 static_cast<index>(request.prompts.size()) * request.options.num_samples <= 1024,
             "a completion has prompts, and not too many");
  for (const ApiPrompt& prompt : request.prompts) {
    fuzz::hold(!prompt.tokens || (!prompt.tokens->empty() && std::ranges::min(*prompt.tokens) >= 0), "a prompt of ids has one or more");
  }
  for (const Message& message : request.messages) {
    fuzz::hold(message.role == "system" || message.role == "user" || message.role == "assistant", "roles are those of templates");
  }
  return 0;
}

}  // namespace dikkat
