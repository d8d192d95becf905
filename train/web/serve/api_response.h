#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "train/sample/generate.h"
#include "train/web/serve/api_error.h"
#include "train/web/serve/api_request.h"
#include "train/web/serve/token_score.h"

namespace dikkat {

/// A part of an answer, or all of one.
struct Piece {
  index choice = 0;  // the number of the answer, of ApiRequest::options.num_samples
  std::string text{};
  std::vector<TokenScore> tokens{};  // if the request asks for them
  std::optional<Ending> ending{};    // with the last piece of a choice
};

struct Usage {
  index prompt = 0;      // tokens of the prompt
  index completion = 0;  // that were generated, for all choices
};

/// What all parts of a response begin with.
struct ResponseHead {
  Endpoint endpoint = Endpoint::completions;
  std::string id{};
  std::int64_t created = 0;  // seconds since 1970
  std::string model{};
  std::string fingerprint{};
  Seed seed{};  // with which the same request gives the same text
  bool tells_scores = false;
};

// The protocol's JSON. Bytes that are not UTF-8 become U+FFFD.

/// {"error": {"message", "type", "param", "code"}}
std::string error_json(const ApiError& error);
/// The list of models, of which there is one.
std::string models_json(const std::string& model, std::int64_t created, index context);
/// That model alone.
std::string model_json(const std::string& model, std::int64_t created, index context);
/// A whole response: one piece for each choice.
std::string response_json(const ResponseHead& head, const std::vector<Piece>& choices, const Usage& usage);

// The same as events of a stream ("data: {...}\n\n").

/// Of chat: says that an answer of the assistant begins.
std::string role_event(const ResponseHead& head, index choice, bool streams_usage);
std::string piece_event(const ResponseHead& head, const Piece& piece, bool streams_usage);
std::string usage_event(const ResponseHead& head, const Usage& usage);
std::string error_event(const ApiError& error);
std::string last_event();

}  // namespace dikkat
