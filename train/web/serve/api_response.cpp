#include "train/web/serve/api_response.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <nlohmann/json.hpp>

#include "train/system/json.h"
#include "train/text/utf8.h"

namespace dikkat::serve {
namespace {

using nlohmann::ordered_json;

std::string event(const ordered_json& value) { return concat("data: ", json_text(value), "\n\n"); }

const char* type_of(int status) {
  switch (status) {
    case 401: return "authentication_error";
    case 403: return "permission_error";
    case 404: return "not_found_error";
    default: return status >= 500 ? "server_error" : "invalid_request_error";
  }
}

ordered_json text_or_null(const std::string& text) { return text.empty() ? ordered_json() : ordered_json(text); }

ordered_json reason(const AnswerDelta& piece) {
  if (!piece.ending) {
    return nullptr;
  }
  return *piece.ending == Ending::length ? "length" : piece.has_called ? "tool_calls" : "stop";
}

/// Returns the id of a call: the response's id, and the indices of the choice and the call.
std::string id_of(const ResponseHead& head, index choice, const CallPart& call) {
  constexpr const char* kDigits = "0123456789abcdefghijklmnopqrstuvwxyz";
  const std::string name = head.id.substr(head.id.find('-') + 1);
  if (!head.has_short_ids) {
    return concat("call_", name, choice, '_', call.number);
  }
  std::string id = name.substr(0, 6);
  for (const index digit : {choice, call.number / 36, call.number}) {
    id += kDigits[digit % 36];
  }
  return id;
}

/// Returns a call, or a part of one in a stream, where only the first part has the name.
ordered_json json_of(const ResponseHead& head, index choice, const CallPart& call, bool is_part) {
  ordered_json one = ordered_json::object();
  if (is_part) {
    one["index"] = call.number;
  }
  ordered_json function = ordered_json::object();
  if (!call.name.empty()) {
    one["id"] = id_of(head, choice, call);
    one["type"] = "function";
    function["name"] = call.name;
  }
  function["arguments"] = call.arguments;
  one["function"] = std::move(function);
  return one;
}

ordered_json json_of_calls(const ResponseHead& head, const AnswerDelta& piece, bool is_part) {
  ordered_json list = ordered_json::array();
  for (const CallPart& call : piece.calls) {
    list.push_back(json_of(head, piece.choice, call, is_part));
  }
  return list;
}

ordered_json message_of(const ResponseHead& head, const AnswerDelta& piece) {
  ordered_json message = {{"role", "assistant"}};
  message["content"] = piece.text.empty() && !piece.calls.empty() ? ordered_json() : ordered_json(piece.text);
  message["refusal"] = nullptr;
  if (!piece.reasoning.empty()) {
    message["reasoning_content"] = piece.reasoning;
  }
  if (!piece.calls.empty()) {
    message["tool_calls"] = json_of_calls(head, piece, false);
  }
  return message;
}

ordered_json delta_of(const ResponseHead& head, const AnswerDelta& piece) {
  ordered_json delta = ordered_json::object();
  if (!piece.reasoning.empty()) {
    delta["reasoning_content"] = piece.reasoning;
  }
  if (!piece.text.empty()) {
    delta["content"] = piece.text;
  }
  if (!piece.calls.empty()) {
    delta["tool_calls"] = json_of_calls(head, piece, true);
  }
  return delta;
}

/// Returns the seed as the client sent it, which may be negative.
ordered_json json_of(const Seed& seed) {
  return seed.is_negative ? ordered_json(static_cast<std::int64_t>(seed.bits)) : ordered_json(seed.bits);
}

ordered_json json_of(const Usage& usage) {
  return {{"prompt_tokens", usage.prompt},
          {"completion_tokens", usage.completion},
          {"total_tokens", usage.prompt + usage.completion},
          {"prompt_tokens_details", {{"cached_tokens", usage.cached}}}};
}

/// Returns the times with their names in llama.cpp's server, rounded to a microsecond.
ordered_json timings_of(const Usage& usage) {
  const auto rounded = [](double value) { return std::round(value * 1000) / 1000; };
  const index read = usage.prompt - usage.cached;
  return {{"cache_n", usage.cached},
          {"prompt_n", read},
          {"prompt_ms", rounded(1000 * usage.reading)},
          {"prompt_per_second", rounded(usage.reading > 0 ? static_cast<double>(read) / usage.reading : 0)},
          {"predicted_n", usage.completion},
          {"predicted_ms", rounded(1000 * usage.generating)},
          {"predicted_per_second", rounded(usage.rate())}};
}

/// Returns a token as a name. A token that is not valid UTF-8 is written as its bytes.
std::string name_of_token(const std::string& token) {
  if (!utf8::first_invalid(token)) {
    return token;
  }
  constexpr const char* kDigits = "0123456789abcdef";
  std::string name = "bytes:";
  for (const char c : token) {
    const auto byte = static_cast<unsigned char>(c);
    name += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return name;
}

/// Returns one token of a chat response.
ordered_json entry(const std::string& token, double log_probability) {
  ordered_json bytes = ordered_json::array();
  for (const char c : token) {
    bytes.push_back(static_cast<unsigned>(static_cast<unsigned char>(c)));
  }
  return {{"token", token}, {"logprob", log_probability}, {"bytes", std::move(bytes)}};
}

ordered_json scores_of_chat(const std::vector<TokenScore>& tokens) {
  ordered_json content = ordered_json::array();
  for (const TokenScore& token : tokens) {
    ordered_json one = entry(token.text, token.log_probability.value());
    ordered_json& likeliest = one["top_logprobs"] = ordered_json::array();
    for (const auto& [text, log_probability] : token.likeliest) {
      likeliest.push_back(entry(text, log_probability));
    }
    content.push_back(std::move(one));
  }
  return {{"content", std::move(content)}, {"refusal", nullptr}};
}

ordered_json scores_of_text(const std::vector<TokenScore>& tokens) {
  ordered_json names = ordered_json::array(), own = ordered_json::array(), top = ordered_json::array(), offsets = ordered_json::array();
  for (const TokenScore& token : tokens) {
    names.push_back(name_of_token(token.text));
    offsets.push_back(token.offset);
    if (!token.log_probability) {
      own.push_back(nullptr);
      top.push_back(nullptr);
      continue;
    }
    own.push_back(*token.log_probability);
    ordered_json likeliest = ordered_json::object();
    for (const auto& [text, log_probability] : token.likeliest) {
      likeliest.emplace(name_of_token(text), log_probability);  // keeps the likelier one of two tokens with the same name
    }
    likeliest.emplace(name_of_token(token.text), *token.log_probability);
    top.push_back(std::move(likeliest));
  }
  return {{"tokens", std::move(names)},
          {"token_logprobs", std::move(own)},
          {"top_logprobs", std::move(top)},
          {"text_offset", std::move(offsets)}};
}

ordered_json scores(const ResponseHead& head, const std::vector<TokenScore>& tokens) {
  if (!head.has_scores) {
    return nullptr;
  }
  return head.endpoint == Endpoint::chat ? scores_of_chat(tokens) : scores_of_text(tokens);
}

ordered_json begun(const ResponseHead& head, bool is_part) {
  const char* object = head.endpoint == Endpoint::completions ? "text_completion" : is_part ? "chat.completion.chunk" : "chat.completion";
  return {{"id", head.id},
          {"object", object},
          {"created", head.created},
          {"model", head.model},
          {"system_fingerprint", head.fingerprint},
          {"seed", json_of(head.seed)}};
}

ordered_json part(const ResponseHead& head, ordered_json choices, bool streams_usage) {
  ordered_json object = begun(head, true);
  object["choices"] = std::move(choices);
  if (streams_usage) {
    object["usage"] = nullptr;
  }
  return object;
}

ordered_json only(ordered_json choice) {
  ordered_json list = ordered_json::array();
  list.push_back(std::move(choice));
  return list;
}

ordered_json description(const ListedModel& model) {
  ordered_json object = {
      {"id", model.name}, {"object", "model"}, {"created", model.created}, {"owned_by", "dikkat"}, {"context_length", model.context}};
  if (!model.base.empty()) {
    object["parent"] = model.base;
  }
  return object;
}

}  // namespace

void AnswerDelta::append(AnswerDelta next) {
  choice = next.choice;
  text += next.text;
  reasoning += next.reasoning;
  for (CallPart& call : next.calls) {
    if (call.name.empty()) {
      calls.back().arguments += call.arguments;
    } else {
      calls.push_back(std::move(call));
    }
  }
  std::ranges::move(next.tokens, std::back_inserter(tokens));
  ending = next.ending;
  has_called = next.has_called;
  usage = next.usage;
}

std::string error_json(const ApiError& error) {
  ordered_json inner = {{"message", error.what()}, {"type", type_of(error.status())}};
  inner["param"] = text_or_null(error.param());
  inner["code"] = text_or_null(error.code());
  ordered_json object;
  object["error"] = std::move(inner);
  return json_text(object);
}

std::string models_json(const std::vector<ListedModel>& models) {
  ordered_json list = ordered_json::array();
  for (const ListedModel& model : models) {
    list.push_back(description(model));
  }
  ordered_json object = {{"object", "list"}};
  object["data"] = std::move(list);
  return json_text(object);
}

std::string model_json(const ListedModel& model) { return json_text(description(model)); }

std::string response_json(const ResponseHead& head, const std::vector<AnswerDelta>& choices, const Usage& usage) {
  ordered_json list = ordered_json::array();
  for (const AnswerDelta& piece : choices) {
    ordered_json choice = {{"index", piece.choice}};
    if (head.endpoint == Endpoint::chat) {
      choice["message"] = message_of(head, piece);
    } else {
      choice["text"] = piece.text;
    }
    choice["logprobs"] = scores(head, piece.tokens);
    choice["finish_reason"] = reason(piece);
    list.push_back(std::move(choice));
  }
  ordered_json object = begun(head, false);
  object["choices"] = std::move(list);
  object["usage"] = json_of(usage);
  object["timings"] = timings_of(usage);
  return json_text(object);
}

std::string role_event(const ResponseHead& head, index number, bool streams_usage) {
  ordered_json choice = {{"index", number}};
  choice["delta"] = {{"role", "assistant"}, {"content", ""}};
  choice["logprobs"] = nullptr;
  choice["finish_reason"] = nullptr;
  return event(part(head, only(std::move(choice)), streams_usage));
}

std::string piece_event(const ResponseHead& head, const AnswerDelta& piece, bool streams_usage) {
  ordered_json choice = {{"index", piece.choice}};
  if (head.endpoint == Endpoint::chat) {
    choice["delta"] = delta_of(head, piece);
  } else {
    choice["text"] = piece.text;
  }
  choice["logprobs"] = piece.tokens.empty() ? ordered_json() : scores(head, piece.tokens);
  choice["finish_reason"] = reason(piece);
  ordered_json object = part(head, only(std::move(choice)), streams_usage);
  if (piece.usage) {
    object["timings"] = timings_of(*piece.usage);
  }
  return event(object);
}

std::string usage_event(const ResponseHead& head, const Usage& usage) {
  ordered_json object = begun(head, true);
  object["choices"] = ordered_json::array();
  object["usage"] = json_of(usage);
  object["timings"] = timings_of(usage);
  return event(object);
}

std::string error_event(const ApiError& error) { return concat("data: ", error_json(error), "\n\n"); }

std::string last_event() { return "data: [DONE]\n\n"; }

}  // namespace dikkat::serve
