#include "train/web/serve/loading_server.h"

#include <vector>

#include "train/web/serve/api_response.h"

namespace dikkat::serve {
namespace {

HttpResponse refused(const ApiError& error) { return {.status = error.status(), .type = "application/json", .body = error_json(error)}; }

ApiError model_is_loading() { return {503, "the model is being loaded: try again in a moment", "", "loading"}; }

HttpResponse loading() {
  HttpResponse response = refused(model_is_loading());
  response.headers.emplace_back("Retry-After", "1");
  return response;
}

HttpOptions options(const std::string& host, int port) {
  return {.host = host,
          .port = port,
          .most_connections = 8,
          .refusal =
              [](int status, const std::string& what) {
                return status == 404 ? loading() : refused(status == 503 ? model_is_loading() : ApiError(status, what));
              },
          .admit = [](const HttpRequest&) { return loading(); }};
}

}  // namespace

LoadingServer::LoadingServer(const std::string& host, int port)
    : server_({{.method = "GET", .path = "/health", .answer = [](HttpRequest&) { return loading(); }}}, options(host, port)) {
  server_.start();
}

}  // namespace dikkat::serve
