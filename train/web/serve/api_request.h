#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "train/sample/generate.h"
#include "train/text/chat/conversation.h"

namespace dikkat {

/// What is asked for.
enum class Endpoint {
  completions,  // to continue a text
  chat,         // to answer a conversation
};

/// The largest body of a request, in bytes.
inline constexpr std::size_t kLargestRequest = std::size_t{4} << 20;

/// The seed of an answer. -1 draws as 2^64 - 1 does, and is echoed as -1.
struct Seed {
  std::uint64_t bits = 0;
  bool is_negative = false;

  bool operator==(const Seed&) const = default;
};

/// A request of the protocol, whose values are all in range.
struct ApiRequest {
  Endpoint endpoint = Endpoint::completions;
  std::string prompt{};             // of completions; empty: a text from its beginning
  std::vector<Message> messages{};  // of chat: one or more
  std::optional<index> max_tokens{};
  SampleOptions options{};  // all but max_new_tokens and the seed
  std::optional<Seed> seed{};
  std::vector<std::string> stops{};
  std::optional<index> alternatives{};  // tells the log probability of each token, and this many of the likeliest
  bool echo = false;                    // the text begins with the prompt
  bool streams = false;
  bool streams_usage = false;
  std::string ignored{};  // keys of messages that have no effect, for the log
};

/// Reads the body of a request. `model` is the name of the model that is served. Throws ApiError, whose sentence says what was found and
/// expected, for a body that is no such request, and for what is asked for that this server does not do (request_fields.h).
ApiRequest read_api_request(std::string_view body, Endpoint endpoint, const std::string& model);

}  // namespace dikkat
