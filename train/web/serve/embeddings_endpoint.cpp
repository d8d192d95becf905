#include "train/web/serve/embeddings_endpoint.h"

#include <cmath>
#include <cstring>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "train/web/serve/request_body.h"

namespace dikkat::serve {
namespace {

using nlohmann::json;

/// Returns numbers in base64 (RFC 4648, section 4), as little-endian f32.
std::string base64_of(std::span<const float> numbers) {
  constexpr const char* kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes(numbers.size_bytes(), '\0'), text;
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t j = i; j < i + 3; ++j) {
      group = group << 8U | (j < bytes.size() ? static_cast<unsigned char>(bytes[j]) : 0U);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      text += i + j <= bytes.size() ? kDigits[group >> (18 - 6 * j) & 63U] : '=';
    }
  }
  return text;
}

void cut_to_length_one(std::span<float> vector) {
  double squares = 0;
  for (const float x : vector) {
    squares += static_cast<double>(x) * static_cast<double>(x);
  }
  for (float& x : vector) {
    x = static_cast<float>(static_cast<double>(x) / std::sqrt(squares > 0 ? squares : 1));
  }
}

}  // namespace

EmbeddingsRequest read_embeddings_request(std::string_view body, const std::vector<ServedModel>& models) {
  json object = parse_body(body);
  const PartsFreer object_freer(object);
  const JsonFields fields = fields_of(object);
  const std::string wanted = read_model(fields, names_of(models));
  const ServedModel& model = model_named(models, wanted);
  if (!model.vectors) {
    throw ApiError(400, concat("the model ", model.name, " has no vectors of texts here"), "model", "embeddings_not_supported");
  }
  require_names(object, {"input", "model", "encoding_format", "dimensions", "user"});
  // Read the form of the vectors.
  EmbeddingsRequest request;
  if (const json* const format = fields.find("encoding_format")) {
    request.is_base64 = *format == "base64";
    if (!request.is_base64 && *format != "float") {
      fields.refuse("encoding_format", "\"float\" or \"base64\"");
    }
  }
  const index width = model.gpt.config().n_embd;
  request.dimensions = fields.integer("dimensions", 1, width).value_or(width);
  static_cast<TextInputs&>(request) = read_text_inputs(object, models);
  return request;
}

std::string embeddings_json(const EmbeddingsRequest& request, std::vector<float> vectors) {
  const std::size_t texts = request.texts.size(), width = vectors.size() / texts, wanted = static_cast<std::size_t>(request.dimensions);
  const index tokens = request.tokens();
  std::string data;
  for (std::size_t i = 0; i < texts; ++i) {
    const std::span<float> vector = std::span(vectors).subspan(i * width, wanted);
    if (wanted < width) {
      cut_to_length_one(vector);
    }
    const std::string numbers = request.is_base64 ? concat('"', base64_of(vector), '"') : fmt::format("[{}]", fmt::join(vector, ","));
    append_to(data, concat(i == 0 ? "" : ",", R"({"object":"embedding","index":)", i, R"(,"embedding":)", numbers, '}'));
  }
  return concat(R"({"object":"list","data":[)", data, R"(],"model":)", json(request.model).dump(), R"(,"usage":{"prompt_tokens":)", tokens,
                R"(,"total_tokens":)", tokens, "}}");
}

}  // namespace dikkat::serve
