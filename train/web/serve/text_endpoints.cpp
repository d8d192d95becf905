#include "train/web/serve/text_endpoints.h"

#include <algorithm>
#include <optional>

#include <nlohmann/json.hpp>

#include "train/sample/prompt.h"
#include "train/text/utf8.h"
#include "train/web/serve/request_body.h"
#include "train/web/serve/request_fields.h"

namespace dikkat::serve {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

/// Returns a token's text, or its bytes as numbers if they are not UTF-8.
ordered_json piece_of(const Tokenizer& tokenizer, Token token) {
  const std::string text = tokenizer.decode_inside(std::span(&token, 1));
  if (!utf8::first_invalid(text)) {
    return text;
  }
  ordered_json bytes = ordered_json::array();
  for (const char c : text) {
    bytes.push_back(static_cast<unsigned>(static_cast<unsigned char>(c)));
  }
  return bytes;
}

/// How tokens are listed.
struct Listing {
  bool with_pieces, with_strings;
};

std::string tokens_json(const ServedModel& model, const std::vector<Token>& tokens, const Listing& listing) {
  ordered_json list = ordered_json::array();
  for (const Token token : tokens) {
    if (listing.with_pieces) {
      list.push_back({{"id", token}, {"piece", piece_of(model.tokenizer, token)}});
    } else {
      list.push_back(token);
    }
  }
  ordered_json object;
  object["tokens"] = std::move(list);
  object["count"] = tokens.size();
  object["max_model_len"] = model.context();
  if (listing.with_strings) {
    ordered_json& texts = object["token_strs"] = ordered_json::array();
    for (const Token token : tokens) {
      texts.push_back(model.tokenizer.decode_inside(std::span(&token, 1)));
    }
  }
  return json_text(object);
}

/// Returns the tokens of a text; with `add_special`, after the token that begins every text, as /v1/completions does.
std::vector<Token> tokens_of(const Tokenizer& tokenizer, const std::string& text, bool add_special, bool parse_special) {
  std::vector<Token> tokens = parse_special ? tokenizer.encode_with_special(text) : tokenizer.encode(text);
  const std::optional<Token> before = tokenizer.text_tokens().before;
  if (add_special && before && (tokens.empty() || tokens.front() != *before)) {
    tokens.insert(tokens.begin(), *before);
  }
  return tokens;
}

}  // namespace

std::string tokenize_json(const std::vector<ServedModel>& models, std::string_view body) {
  json object = parse_body(body);
  const PartsFreer object_freer(object);
  const JsonFields fields = fields_of(object);
  const std::string wanted = read_model(fields, names_of(models));
  const ServedModel& model = model_named(models, wanted);
  const Listing listing{.with_pieces = fields.flag("with_pieces"), .with_strings = fields.flag("return_token_strs")};

  // Encode a conversation.
  if (fields.find("messages") != nullptr) {
    auto chat = parse_json<ordered_json>(body, kBodyLimits);
    const PartsFreer chat_freer(chat);
    chat.erase("with_pieces");
    chat.erase("return_token_strs");
    const ApiRequest request = read_api_request(json_text(chat), Endpoint::chat, names_of(models));
    try {
      return tokens_json(model, encode(model.tokenizer, conversation_text(model, request)).tokens, listing);
    } catch (const EncodeError& error) {
      refuse("messages", "the conversation cannot be encoded: ", error.what());
    }
  }

  // Encode a text.
  require_names(object, {"content", "prompt", "messages", "add_special", "add_special_tokens", "parse_special", "with_pieces",
                         "return_token_strs", "model"});
  const bool is_prompt = fields.find("content") == nullptr;
  const char* const name = is_prompt ? "prompt" : "content";
  const json* const text = fields.find(name);
  if (text == nullptr || !text->is_string()) {
    refuse("content", text == nullptr ? "there is no content" : concat(name, ' ', found_value(*text)),
           R"(, expected the text as a string: {"content": "..."}, or {"messages": [...]})");
  }
  if (!is_prompt && fields.find("prompt") != nullptr) {
    refuse("prompt", "the request has content and prompt, expected one of them: leave one out");
  }
  const bool add_special = fields.flag("add_special_tokens", fields.flag("add_special", is_prompt));
  try {
    return tokens_json(
        model, tokens_of(model.tokenizer, text->get_ref<const std::string&>(), add_special, fields.flag("parse_special", true)), listing);
  } catch (const EncodeError& error) {
    refuse(name, name, ": ", error.what());
  }
}

std::string detokenize_json(const std::vector<ServedModel>& models, std::string_view body) {
  json object = parse_body(body);
  const PartsFreer object_freer(object);
  const JsonFields fields = fields_of(object);
  const std::string wanted = read_model(fields, names_of(models));
  const ServedModel& model = model_named(models, wanted);
  require_names(object, {"tokens", "model"});
  const json* const list = fields.find("tokens");
  if (list == nullptr || !list->is_array()) {
    refuse("tokens", list == nullptr ? "there are no tokens" : concat("tokens ", found_value(*list)), ", expected a list of ids");
  }
  const index size = model.tokenizer.vocab_size();
  std::vector<Token> tokens;
  for (const json& one : *list) {
    if (!one.is_number_integer() || one < 0 || one >= size) {
      refuse("tokens", "tokens[", tokens.size(), "] ", found_value(one), ", expected the id of a token, 0 to ", size - 1);
    }
    tokens.push_back(one.get<Token>());
  }
  ordered_json response;
  response["content"] = response["prompt"] = model.tokenizer.decode(tokens);
  return json_text(response);
}

std::string tokenizer_info_json(const ServedModel& model) {
  const Tokenizer& tokenizer = model.tokenizer;
  const auto name_of = [&](std::optional<Token> token) -> ordered_json {
    for (const SpecialToken& special : tokenizer.special_tokens()) {
      if (special.id == token && tokenizer.encode_with_special(special.name) == std::vector{special.id}) {
        return special.name;
      }
    }
    return nullptr;
  };
  const TextTokens around = tokenizer.text_tokens();
  const auto sequence = tokenizer.sequence_tokens();
  ordered_json info;
  info["tokenizer_class"] = tokenizer.kind();
  info["model_max_length"] = model.context();
  info["bos_token"] = name_of(around.bos);
  info["eos_token"] = name_of(around.eos ? around.eos : tokenizer.separator());
  info["pad_token"] = name_of(sequence ? std::optional(sequence->pad) : std::nullopt);
  info["chat_template"] = model.form ? ordered_json(model.form->jinja()) : ordered_json();
  return json_text(info);
}

std::string apply_template_json(const std::vector<ServedModel>& models, std::string_view body) {
  const ApiRequest request = read_api_request(body, Endpoint::chat, names_of(models));
  ordered_json response;
  response["prompt"] = conversation_text(model_named(models, request.model), request).text;
  return json_text(response);
}

}  // namespace dikkat::serve
