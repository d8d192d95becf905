#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/base/index.h"

namespace dikkat {
class ListeningSocket;
}

namespace dikkat::serve {

/// A classifier, as clients see it.
struct ServedClassifier {
  std::string name;
  std::int64_t created = 0;         // seconds since 1970
  index context = 0;                // the most tokens of a text
  std::vector<std::string> labels;  // one or more
  bool several = false;             // whether a text may have several labels

  struct Answer {
    std::vector<double> probabilities;  // one for each label
    index tokens = 0;
  };
  /// Returns an answer for each text. Throws InputError for a text that cannot be read, or that is longer than the context.
  std::function<std::vector<Answer>(const std::vector<std::string>& texts)> classify{};
};

/// Returns the answer to a request of POST /classify: {"model", "input": TEXT or [TEXT, ...]} to {"object": "list", "data": [{"index",
/// "label", "probs", "num_classes"}], "model", "usage"}, as vLLM and SGLang write it. With several labels, "label" is a list of those with
/// a probability of 1/2 or more. Throws ApiError for an invalid request.
std::string classify_json(const ServedClassifier& model, std::string_view body);

/// Serves a classifier over HTTP: POST /classify and /v1/classify, GET /v1/models and /health. Paths of text generation are refused by
/// name.
class ClassifyServer {
 public:
  struct Options {
    std::string host = "127.0.0.1";
    int port = 8080;                                  // 0: any free port
    std::shared_ptr<const ListeningSocket> socket{};  // result of LoadingServer::hand_over(), in place of `port`
    std::string api_key{};                            // the key that clients must send; empty: none
    std::size_t most_waiting = 64;                    // waiting requests; more are refused with 503
    std::function<void(const std::string& line)> log{};
  };
  /// Throws InputError if the server cannot listen there.
  ClassifyServer(ServedClassifier model, const Options& options);
  ~ClassifyServer();
  ClassifyServer(const ClassifyServer&) = delete;
  ClassifyServer& operator=(const ClassifyServer&) = delete;

  std::string url() const;
  /// Serves until `stop`, which is called several times a second, returns true. The model runs on this thread, one request after another.
  void serve(const std::function<bool()>& stop);

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace dikkat::serve
