#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "train/sample/generate.h"
#include "train/web/serve/answer_reader.h"
#include "train/web/serve/api_error.h"
#include "train/web/serve/api_request.h"
#include "train/web/serve/token_score.h"

namespace dikkat::serve {

/// The tokens and seconds of an answer so far.
struct Usage {
  index prompt = 0;       // tokens of the prompt
  index cached = 0;       // tokens of the prompt that came from a cache
  index completion = 0;   // tokens that were generated, for all choices
  double reading = 0;     // seconds in which the prompt was read, up to the first token
  double generating = 0;  // seconds from the first token to the last one

  /// Returns the tokens per second after the first token; 0 if there are none.
  double rate() const { return completion > 1 && generating > 0 ? static_cast<double>(completion - 1) / generating : 0; }
};

/// A part of an answer, or all of one.
struct AnswerDelta {
  index choice = 0;  // the index of the answer, below Job::choices()
  std::string text{};
  std::string reasoning{};           // comes before the text
  std::vector<CallPart> calls{};     // come after the text
  std::vector<TokenScore> tokens{};  // if the request asks for log probabilities
  std::optional<Ending> ending{};    // only in the last piece of a choice
  bool has_called = false;           // set in the last piece: whether the choice has called tools
  std::optional<Usage> usage{};      // if the request asks for the times of each piece

  bool is_empty() const { return text.empty() && reasoning.empty() && calls.empty() && tokens.empty() && !ending; }
  /// Continues the choice with its next piece.
  void append(AnswerDelta next);
};

/// The fields at the beginning of each part of a response.
struct ResponseHead {
  Endpoint endpoint = Endpoint::completions;
  std::string id{};
  std::int64_t created = 0;  // seconds since 1970
  std::string model{};
  std::string fingerprint{};
  Seed seed{};  // the request has the same answer with this seed
  bool has_scores = false;
  bool has_short_ids = false;  // CallFormat::short_ids
};

// These functions return the protocol's JSON. Bytes that are not UTF-8 become U+FFFD.

/// Returns {"error": {"message", "type", "param", "code"}}.
std::string error_json(const ApiError& error);
/// A model in the list of models.
struct ListedModel {
  std::string name{};
  std::int64_t created = 0;  // seconds since 1970
  index context = 0;
  std::string base{};  // the name of the model whose weights an adapter shares; empty for others
};
/// Returns the list of models.
std::string models_json(const std::vector<ListedModel>& models);
/// Returns the entry of a model.
std::string model_json(const ListedModel& model);
/// Returns a whole response, with one piece for each choice.
std::string response_json(const ResponseHead& head, const std::vector<AnswerDelta>& choices, const Usage& usage);

// These return events of a stream ("data: {...}\n\n").

/// Announces an answer of the assistant. Chat only.
std::string role_event(const ResponseHead& head, index choice, bool streams_usage);
std::string piece_event(const ResponseHead& head, const AnswerDelta& piece, bool streams_usage);
std::string usage_event(const ResponseHead& head, const Usage& usage);
std::string error_event(const ApiError& error);
std::string last_event();

}  // namespace dikkat::serve
