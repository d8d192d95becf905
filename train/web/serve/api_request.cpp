#include "train/web/serve/api_request.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>

#include <nlohmann/json.hpp>

#include "train/chat/read_messages.h"
#include "train/system/json.h"
#include "train/web/serve/api_error.h"
#include "train/web/serve/request_body.h"
#include "train/web/serve/request_fields.h"
#include "train/web/serve/structured_fields.h"
#include "train/web/serve/tool_fields.h"

namespace dikkat::serve {
namespace {

using nlohmann::json;

constexpr std::size_t kMostMessages = 2048;
constexpr std::size_t kMostStops = 16;
constexpr std::size_t kLongestStop = 1024;
constexpr index kMostChoices = 8;           // of a prompt
constexpr std::size_t kMostAnswers = 1024;  // choices of all prompts
constexpr index kMostTokens = 1'000'000'000;
constexpr double kMostPenalty = 2;

std::vector<Message> messages_of(const JsonFields& fields, const nlohmann::ordered_json& ordered, std::string& ignored) {
  const json* list = fields.find("messages");
  if (list == nullptr) {
    refuse("messages", R"(there are no messages, expected a list of {"role": ..., "content": ...})");
  }
  if (!list->is_array() || list->empty() || list->size() > kMostMessages) {
    refuse("messages", "messages ", found_value(*list), ", expected a list of 1 to ", kMostMessages,
           R"( of {"role": ..., "content": ...})");
  }
  try {
    ExampleFindings found;
    std::vector<Message> messages = read_messages(ordered["messages"], "messages", found);
    ignored = found.unused_keys();
    return messages;
  } catch (const BadExample& error) {
    refuse(error.path(), error.what());
  }
}

ApiPrompt tokens_of(const json& list, const std::string& name) {
  if (!list.is_array() || list.empty()) {
    refuse("prompt", name, ' ', found_value(list), ", expected a string, or a list of one token id or more");
  }
  std::vector<Token> tokens;
  for (const json& id : list) {
    if (!id.is_number_integer() || id < 0 || id > std::numeric_limits<Token>::max()) {
      refuse("prompt", name, '[', tokens.size(), "] ", found_value(id), ", expected the id of a token: POST /tokenize returns ids");
    }
    tokens.push_back(id.get<Token>());
  }
  return {.tokens = std::move(tokens)};
}

/// Returns the prompts: a text or tokens, or a list of these.
std::vector<ApiPrompt> prompts_of(const JsonFields& fields) {
  const json* prompt = fields.find("prompt");
  if (prompt == nullptr) {
    return {ApiPrompt{}};
  }
  if (prompt->is_string()) {
    return {{.text = prompt->get<std::string>()}};
  }
  if (!prompt->is_array() || prompt->empty() || prompt->front().is_number()) {
    return {tokens_of(*prompt, "prompt")};
  }
  std::vector<ApiPrompt> prompts;
  for (const json& one : *prompt) {
    prompts.push_back(one.is_string() ? ApiPrompt{.text = one.get<std::string>()} : tokens_of(one, concat("prompt[", prompts.size(), ']')));
  }
  return prompts;
}

std::vector<std::string> stops_of(const JsonFields& fields) {
  const json* stop = fields.find("stop");
  if (stop == nullptr) {
    return {};
  }
  std::vector<std::string> stops;
  const json list = stop->is_array() ? *stop : json::array({*stop});
  const bool fits =
      list.size() <= kMostStops && std::ranges::all_of(list, [](const json& one) {
        return one.is_string() && !one.get_ref<const std::string&>().empty() && one.get_ref<const std::string&>().size() <= kLongestStop;
      });
  if (!fits) {
    refuse("stop", "stop is ", short_text(*stop), ", expected a string of 1 to ", kLongestStop, " bytes, or a list of up to ", kMostStops);
  }
  for (const json& one : list) {
    stops.push_back(one.get<std::string>());
  }
  return stops;
}

/// Returns the biases of tokens, by ascending id: {"50256": -100}.
std::vector<LogitBias> biases_of(const JsonFields& fields) {
  constexpr double kMost = 100;
  const json* biases = fields.find("logit_bias");
  if (biases == nullptr || is_nothing(*biases)) {
    return {};
  }
  if (!biases->is_object()) {
    refuse("logit_bias", "logit_bias ", found_value(*biases),
           R"(, expected an object such as {"50256": -100}, with a bias for each token id)");
  }
  std::map<Token, double> found;
  for (const auto& [name, bias] : biases->items()) {
    Token id = 0;
    const char* const end = name.data() + name.size();
    const auto [last, problem] = std::from_chars(name.data(), end, id);
    if (problem != std::errc() || last != end || std::to_string(id) != name || id < 0) {
      refuse("logit_bias", "logit_bias has the key ", short_text(json(name)), ", expected the id of a token: POST /tokenize returns ids");
    }
    if (!bias.is_number() || std::abs(bias.get<double>()) > kMost) {
      refuse("logit_bias", "logit_bias of token ", id, ' ', found_value(bias), ", expected a number from ", -kMost, " to ", kMost);
    }
    found[id] = bias.get<double>();
  }
  return {found.begin(), found.end()};
}

void read_sampling(const JsonFields& fields, ApiRequest& request) {
  SampleOptions& o = request.options;
  o.temperature = fields.number("temperature", 0, kHighestTemperature).value_or(1);
  o.top_p = fields.number("top_p", 0, 1).value_or(o.top_p);
  o.min_p = fields.number("min_p", 0, 1).value_or(o.min_p);
  o.repetition_penalty = fields.number("repetition_penalty", 0.01, 100).value_or(o.repetition_penalty);
  o.presence_penalty = fields.number("presence_penalty", -kMostPenalty, kMostPenalty).value_or(o.presence_penalty);
  o.frequency_penalty = fields.number("frequency_penalty", -kMostPenalty, kMostPenalty).value_or(o.frequency_penalty);
  o.logit_bias = biases_of(fields);
  o.top_k = std::max<index>(fields.integer("top_k", -1, kMostTokens).value_or(0), 0);
  // The sampler refuses options that have no effect at temperature 0, but clients send all of them.
  if (o.temperature == 0 || o.top_p == 0 || o.min_p == 1) {
    o.temperature = 0;
    o.top_k = 0;
    o.top_p = 1;
    o.min_p = 0;
  }
  if (const json* seed = fields.find("seed")) {
    if (!seed->is_number_integer()) {
      refuse("seed", "seed ", found_value(*seed), ", expected an integer of 64 bits");
    }
    request.seed = seed->is_number_unsigned() ? Seed{.bits = seed->get<std::uint64_t>()}
                                              : Seed{.bits = static_cast<std::uint64_t>(seed->get<std::int64_t>()), .is_negative = true};
  }
}

void read_stream_options(const json& options, ApiRequest& request) {
  const JsonFields fields = fields_of(options);
  request.streams_usage = fields.flag("include_usage");
  for (const auto& [name, value] : options.items()) {  // obfuscation pads events and does not change the text
    if (name != "include_usage" && name != "include_obfuscation" && !is_nothing(value) && value != 0) {
      refuse("stream_options." + name, "stream_options.", name, ' ', found_value(value), ", which is not supported: leave it out");
    }
  }
}

void read_log_probabilities(const JsonFields& fields, ApiRequest& request) {
  if (request.endpoint == Endpoint::completions) {
    request.alternatives = fields.integer("logprobs", 0, kMostAlternatives);
    return;
  }
  const auto top = fields.integer("top_logprobs", 0, kMostAlternatives);
  if (fields.flag("logprobs")) {
    request.alternatives = top.value_or(0);
  } else if (top.value_or(0) > 0) {
    refuse("top_logprobs", "top_logprobs is ", *top, " without logprobs, expected \"logprobs\": true beside it");
  }
}

}  // namespace

ApiRequest read_api_request(std::string_view body, Endpoint endpoint, const std::vector<std::string>& models) {
  // Parse the object, and check the names of its fields.
  json object = parse_body(body);
  const PartsFreer object_freer(object);
  const JsonFields fields = fields_of(object);
  ApiRequest request{.endpoint = endpoint, .model = read_model(fields, models)};
  check_fields(object, endpoint);

  // Read the values of the fields: the prompt or conversation first.
  const bool is_chat = endpoint == Endpoint::chat;
  nlohmann::ordered_json ordered = parse_in_order(body, kBodyLimits);
  const PartsFreer ordered_freer(ordered);
  request.structure = read_structured_request(ordered);
  if (is_chat) {
    request.messages = messages_of(fields, ordered, request.ignored);
    request.tools = read_tool_request(ordered);
    request.reasoning = read_reasoning_request(ordered);
  } else {
    request.prompts = prompts_of(fields);
    request.special_names = fields.flag("parse_special", true) ? SpecialNames::tokens : SpecialNames::text;
    request.echo = fields.flag("echo");
  }
  // Read the options of sampling.
  const index fewest = is_chat ? 1 : 0;
  request.max_tokens = fields.integer("max_tokens", fewest, kMostTokens);
  if (const auto other = fields.integer("max_completion_tokens", fewest, kMostTokens)) {
    request.max_tokens = other;
  }
  read_sampling(fields, request);
  request.options.num_samples = fields.integer("n", 1, kMostChoices).value_or(1);
  if (request.prompts.size() * static_cast<std::size_t>(request.options.num_samples) > kMostAnswers) {
    refuse("prompt", "prompt has ", request.prompts.size(), " prompts with ", request.options.num_samples,
           " answers each (n), expected at most ", kMostAnswers, " answers: send several requests");
  }
  if (const auto best = fields.integer("best_of", 1, kMostChoices); best && *best != request.options.num_samples) {
    refuse("best_of", "best_of is ", *best, ", expected ", request.options.num_samples,
           ", as n: this server returns all that it generates");
  }
  // Read the form of the response.
  request.stops = stops_of(fields);
  request.streams = fields.flag("stream");
  request.streams_timings = fields.flag("timings_per_token");
  if (const json* options = fields.find("stream_options")) {
    if (!options->is_object() || !request.streams) {
      refuse("stream_options", "stream_options ", found_value(*options),
             request.streams ? ", expected an object" : ", which is only possible with \"stream\": true");
    }
    read_stream_options(*options, request);
  }
  read_log_probabilities(fields, request);
  return request;
}

}  // namespace dikkat::serve
