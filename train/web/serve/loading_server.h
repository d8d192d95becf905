#pragma once

#include <memory>
#include <string>

#include "train/web/http/http_server.h"

namespace dikkat::serve {

/// Answers requests with 503 at the address of a CompletionServer that cannot be made yet, because its model is being loaded. So a program
/// that waits for GET /health can distinguish a starting server from a missing one.
class LoadingServer {
 public:
  /// Throws InputError if the server cannot listen there.
  LoadingServer(const std::string& host, int port);

  std::string url() const { return server_.url(); }
  /// Stops, and returns the socket for CompletionServer::Options::socket. Clients that connect meanwhile wait for the next server.
  std::shared_ptr<const ListeningSocket> hand_over() { return server_.hand_over(); }

 private:
  HttpServer server_;
};

}  // namespace dikkat::serve
