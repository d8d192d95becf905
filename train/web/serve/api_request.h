#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "train/chat/conversation.h"
#include "train/sample/generate.h"
#include "train/sample/prompt.h"
#include "train/web/serve/structured_request.h"
#include "train/web/serve/tool_request.h"

namespace dikkat::serve {

/// The kind of a request.
enum class Endpoint {
  completions,  // continues a text
  chat,         // answers a conversation
};

/// The largest body of a request, in bytes.
inline constexpr std::size_t kLargestRequest = std::size_t{4} << 20;

/// The seed of an answer. -1 has the same effect as 2^64 - 1, and is echoed as -1.
struct Seed {
  std::uint64_t bits = 0;
  bool is_negative = false;

  bool operator==(const Seed&) const = default;
};

/// The prompt of a completion.
struct ApiPrompt {
  std::string text{};                          // empty: a text from its beginning
  std::optional<std::vector<Token>> tokens{};  // one or more ids, 0 or above, in place of the text
};

/// A request of the protocol. All values are in range.
struct ApiRequest {
  Endpoint endpoint = Endpoint::completions;
  std::string model{};               // the name of a served model
  std::vector<ApiPrompt> prompts{};  // completions only: one or more
  SpecialNames special_names{};      // completions only: how special names in texts of prompts are read
  std::vector<Message> messages{};   // chat only: one or more
  ToolRequest tools{};               // chat only
  ReasoningRequest reasoning{};      // chat only
  StructuredRequest structure{};     // restricts the content of the answer
  std::optional<index> max_tokens{};
  SampleOptions options{};  // without max_new_tokens and the seed
  std::optional<Seed> seed{};
  std::vector<std::string> stops{};
  std::optional<index> alternatives{};  // reports the log probability of each token, and of this many likeliest tokens
  bool echo = false;                    // the text begins with the prompt, and so do log probabilities
  bool streams = false;
  bool streams_usage = false;
  bool streams_timings = false;
  std::string ignored{};  // keys of messages that have no effect, for the log

  bool scores_prompts() const { return echo && alternatives.has_value(); }
};

/// Reads the body of a request. `models` are the names of the models that are served; the first one answers a request without a name.
/// Throws ApiError for a body that is not a valid request, and for fields that this server does not support (request_fields.h).
ApiRequest read_api_request(std::string_view body, Endpoint endpoint, const std::vector<std::string>& models);

}  // namespace dikkat::serve
