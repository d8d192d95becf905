#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "train/web/serve/served_model.h"

namespace dikkat {
class ListeningSocket;
}

namespace dikkat::serve {

/// Serves models over HTTP in the protocol of OpenAI's completions and chat completions: POST /v1/completions and /v1/chat/completions, GET
/// /v1/models. Also serves POST /tokenize, /detokenize and /apply-template, GET /tokenizer_info (text_endpoints.h), /health and /metrics,
/// and a page to chat on at /. Paths also work without /v1. Several answers are generated together, on the thread that calls serve(); other
/// requests wait in turn. An answer's bits do not depend on the others.
///
/// A classifier (ServedModel::labels) is the only model of its server, which has POST /v1/classify, GET /v1/models, /health and /metrics.
class CompletionServer {
 public:
  struct Options {
    std::string host = "127.0.0.1";
    int port = 8080;                                  // 0: any free port
    std::shared_ptr<const ListeningSocket> socket{};  // result of LoadingServer::hand_over(), in place of `port`
    std::string api_key{};          // the key that clients must send ("Authorization: Bearer KEY" or "x-api-key: KEY"); empty: none
    std::size_t most_waiting = 64;  // waiting requests; more are refused with 503
    index streams = 4;              // samples that are generated together; a request has one for each choice
    std::optional<DType> cache{};   // the type of keys and values; absent: the model's own
    index prompt_positions = 4096;  // positions of prompts whose keys and values are kept; 0: none
    /// The time in which running answers may end after a stop. Waiting requests fail at once.
    std::chrono::milliseconds grace{0};
    std::filesystem::path feedback{};  // the file that collects the ratings of POST /feedback; empty: they are refused
    /// Receives a line for each request, on several threads. The line has text that clients sent.
    std::function<void(const std::string& line)> log{};
  };

  /// Returns the first model answers requests that name none. Throws InputError if the server cannot listen there, and for two models with
  /// the same name.
  CompletionServer(std::vector<ServedModel> models, const Options& options);
  ~CompletionServer();
  CompletionServer(const CompletionServer&) = delete;
  CompletionServer& operator=(const CompletionServer&) = delete;

  /// Returns the server's address: "http://127.0.0.1:8080/".
  std::string url() const;

  /// Serves until `stop`, which is called several times a second and between tokens, returns true. Then new requests are refused with 503,
  /// and answers that do not end within Options::grace fail.
  void serve(const std::function<bool()>& stop);

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace dikkat::serve
