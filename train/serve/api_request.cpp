#include "train/serve/api_request.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

#include "train/exchange/untrusted_json.h"
#include "train/serve/api_error.h"

namespace dikkat {
namespace {

using nlohmann::json;

constexpr std::size_t kMostMessages = 2048;
constexpr std::size_t kMostStops = 4;
constexpr std::size_t kLongestStop = 1024;
constexpr index kMostChoices = 8;  // that the model generates together
constexpr index kMostTokens = 1'000'000'000;
constexpr index kMostAlternativesOfText = 5, kMostAlternativesOfChat = 20;
constexpr JsonLimits kLimits{.bytes = kLargestRequest, .levels = 32, .values = std::size_t{1} << 17};

template <class... Parts>
[[noreturn]] void refuse(const std::string& field, const Parts&... parts) {
  throw ApiError(400, concat(parts...), field, "invalid_value");
}

/// "is 7" or "is a list of 3", for messages.
std::string found(const json& value) {
  if (value.is_array()) {
    return concat("is a list of ", value.size());
  }
  return value.is_object() ? "is an object" : concat("is ", short_text(value));
}

/// The fields of a request.
class Fields {
 public:
  explicit Fields(const json& object) : object_(object) {}

  /// The field's value; null where it is missing.
  const json* find(const char* name) const {
    const auto at = object_.find(name);
    return at == object_.end() || at->is_null() ? nullptr : &*at;
  }

  void number(const char* name, double low, double high, double& to) const {
    if (const json* value = find(name)) {
      if (!value->is_number() || !(low <= value->get<double>() && value->get<double>() <= high)) {
        refuse(name, name, ' ', found(*value), ", expected a number from ", low, " to ", high);
      }
      to = value->get<double>();
    }
  }
  std::optional<index> integer(const char* name, index low, index high) const {
    const json* value = find(name);
    if (value == nullptr) {
      return std::nullopt;
    }
    const bool fits = value->is_number_integer() && !(value->is_number_unsigned() && value->get<std::uint64_t>() > std::uint64_t{1} << 62);
    if (!fits || value->get<index>() < low || value->get<index>() > high) {
      refuse(name, name, ' ', found(*value), ", expected an integer from ", low, " to ", high);
    }
    return value->get<index>();
  }
  bool flag(const char* name) const {
    const json* value = find(name);
    if (value != nullptr && !value->is_boolean()) {
      refuse(name, name, ' ', found(*value), ", expected true or false");
    }
    return value != nullptr && value->get<bool>();
  }

 private:
  const json& object_;
};

/// Whether a value asks for nothing: false, 0, "", [], {}.
bool is_nothing(const json& value) {
  return (value.is_boolean() && !value.get<bool>()) || (value.is_number() && value.get<double>() == 0) ||
         ((value.is_string() || value.is_structured()) && (value.is_string() ? value.get_ref<const std::string&>().empty() : value.empty()));
}

void refuse_what_is_not_done(const Fields& fields) {
  for (const char* name : {"tools", "functions", "function_call", "logit_bias", "suffix", "audio", "prediction", "web_search_options", "presence_penalty",
                           "frequency_penalty"}) {
    if (const json* value = fields.find(name); value != nullptr && !is_nothing(*value)) {
      refuse(name, name, ' ', found(*value), ", which this server does not do: leave it out");
    }
  }
  if (const json* choice = fields.find("tool_choice"); choice != nullptr && *choice != "none" && *choice != "auto") {
    refuse("tool_choice", "tool_choice ", found(*choice), ", but this server calls no tools: leave it out");
  }
  if (const json* format = fields.find("response_format"); format != nullptr && *format != json::object({{"type", "text"}})) {
    refuse("response_format", "response_format is ", short_text(*format), R"(, expected {"type": "text"}: this server promises no other form)");
  }
  if (const json* modalities = fields.find("modalities"); modalities != nullptr && *modalities != json::array({"text"})) {
    refuse("modalities", "modalities is ", short_text(*modalities), R"(, expected ["text"])");
  }
}

std::string text_of(const json& value, const std::string& where) {
  if (!value.is_string()) {
    refuse(where, where, ' ', found(value), ", expected a string");
  }
  return value.get<std::string>();
}

/// The text of a message: a string, or parts of text.
std::string content_of(const json& message, const std::string& where) {
  const auto content = message.find("content");
  if (content == message.end()) {
    refuse(where, where, " is missing, expected a string or a list of parts of text");
  }
  if (!content->is_array()) {
    return text_of(*content, where);
  }
  std::string text;
  for (std::size_t i = 0; i < content->size(); ++i) {
    const json& part = (*content)[i];
    const std::string place = concat(where, '[', i, ']');
    if (!part.is_object() || part.value("type", json()) != "text" || !part.contains("text")) {
      refuse(place, place, " is ", short_text(part), R"(, expected {"type": "text", "text": "..."}: this model reads text alone)");
    }
    text += text_of(part["text"], place + ".text");
  }
  return text;
}

std::vector<Message> messages_of(const Fields& fields) {
  const json* list = fields.find("messages");
  if (list == nullptr) {
    refuse("messages", R"(there are no messages, expected a list of {"role": ..., "content": ...})");
  }
  if (!list->is_array() || list->empty() || list->size() > kMostMessages) {
    refuse("messages", "messages ", found(*list), ", expected a list of 1 to ", kMostMessages, R"( of {"role": ..., "content": ...})");
  }
  std::vector<Message> messages;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const json& one = (*list)[i];
    const std::string where = concat("messages[", i, ']');
    if (!one.is_object()) {
      refuse(where, where, ' ', found(one), R"(, expected {"role": ..., "content": ...})");
    }
    const json role = one.value("role", json());
    if (role != "system" && role != "developer" && role != "user" && role != "assistant") {
      refuse(where + ".role", where, ".role is ", short_text(role), R"(, expected "system", "user" or "assistant")");
    }
    for (const char* call : {"tool_calls", "function_call"}) {
      if (one.contains(call) && !one[call].is_null() && !is_nothing(one[call])) {
        refuse(concat(where, '.', call), where, '.', call, " is given, but this server calls no tools");
      }
    }
    messages.push_back({role == "developer" ? "system" : role.get<std::string>(), content_of(one, where + ".content")});
  }
  return messages;
}

std::string prompt_of(const Fields& fields) {
  const json* prompt = fields.find("prompt");
  if (prompt == nullptr) {
    return {};
  }
  if (prompt->is_array() && prompt->size() == 1 && prompt->front().is_string()) {
    prompt = &prompt->front();
  }
  if (!prompt->is_string()) {
    refuse("prompt", "prompt ", found(*prompt), ", expected a string, or a list of one string: send several prompts one by one, and text in place of tokens");
  }
  return prompt->get<std::string>();
}

std::vector<std::string> stops_of(const Fields& fields) {
  const json* stop = fields.find("stop");
  if (stop == nullptr) {
    return {};
  }
  std::vector<std::string> stops;
  const json list = stop->is_array() ? *stop : json::array({*stop});
  const bool fits = list.size() <= kMostStops && std::ranges::all_of(list, [](const json& one) {
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

void require_model(const Fields& fields, const std::string& model) {
  const json* name = fields.find("model");
  if (name != nullptr && *name != model) {
    throw ApiError(404, concat("the model ", short_text(*name), " is not served here, expected ", short_text(json(model)), ", or no model at all"), "model",
                   "model_not_found");
  }
}

void read_sampling(const Fields& fields, ApiRequest& request) {
  SampleOptions& o = request.options;
  o.temperature = 1;
  fields.number("temperature", 0, 2, o.temperature);
  fields.number("top_p", 0, 1, o.top_p);
  fields.number("min_p", 0, 1, o.min_p);
  fields.number("repetition_penalty", 0.01, 100, o.repetition_penalty);
  o.top_k = std::max<index>(fields.integer("top_k", -1, kMostTokens).value_or(0), 0);
  // The sampler refuses options that temperature 0 makes meaningless. Clients send all of them.
  if (o.temperature == 0 || o.top_p == 0 || o.min_p == 1) {
    o.temperature = 0;
    o.top_k = 0;
    o.top_p = 1;
    o.min_p = 0;
  }
  if (const json* seed = fields.find("seed")) {
    if (!seed->is_number_integer()) {
      refuse("seed", "seed ", found(*seed), ", expected an integer of 64 bits");
    }
    request.seed = seed->is_number_unsigned() ? seed->get<std::uint64_t>() : static_cast<std::uint64_t>(seed->get<std::int64_t>());
  }
}

void read_log_probabilities(const Fields& fields, ApiRequest& request) {
  if (request.endpoint == Endpoint::completions) {
    request.alternatives = fields.integer("logprobs", 0, kMostAlternativesOfText);
    if (request.echo && request.alternatives) {
      refuse("echo", "echo with logprobs asks for those of the prompt, which this server does not tell: leave one of them out");
    }
    return;
  }
  const auto top = fields.integer("top_logprobs", 0, kMostAlternativesOfChat);
  if (fields.flag("logprobs")) {
    request.alternatives = top.value_or(0);
  } else if (top.value_or(0) > 0) {
    refuse("top_logprobs", "top_logprobs is ", *top, " without logprobs, expected \"logprobs\": true beside it");
  }
}

}  // namespace

ApiRequest read_api_request(std::string_view body, Endpoint endpoint, const std::string& model) {
  json object;
  try {
    object = parse_untrusted_object(body, "the body", "one with the fields of a request", kLimits);
  } catch (const InputError& error) {
    throw ApiError(400, error.what(), "", "invalid_json");
  }
  const Fields fields(object);
  require_model(fields, model);
  refuse_what_is_not_done(fields);
  ApiRequest request{.endpoint = endpoint};
  const bool is_chat = endpoint == Endpoint::chat;
  if (is_chat) {
    request.messages = messages_of(fields);
  } else {
    request.prompt = prompt_of(fields);
    request.echo = fields.flag("echo");
  }
  const index fewest = is_chat ? 1 : 0;
  request.max_tokens = fields.integer("max_tokens", fewest, kMostTokens);
  if (const auto other = fields.integer("max_completion_tokens", fewest, kMostTokens)) {
    request.max_tokens = other;
  }
  read_sampling(fields, request);
  request.options.num_samples = fields.integer("n", 1, kMostChoices).value_or(1);
  if (const auto best = fields.integer("best_of", 1, kMostChoices); best && *best != request.options.num_samples) {
    refuse("best_of", "best_of is ", *best, ", expected ", request.options.num_samples, ", as n: this server returns all that it generates");
  }
  request.stops = stops_of(fields);
  request.streams = fields.flag("stream");
  if (const json* options = fields.find("stream_options")) {
    if (!options->is_object() || !request.streams) {
      refuse("stream_options", "stream_options ", found(*options), request.streams ? ", expected an object" : ", expected it only with \"stream\": true");
    }
    request.streams_usage = Fields(*options).flag("include_usage");
  }
  read_log_probabilities(fields, request);
  return request;
}

}  // namespace dikkat
