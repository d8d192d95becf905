#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "train/web/http/http_server.h"
#include "train/web/serve/job.h"

namespace dikkat::serve {

constexpr auto kClientCheck = std::chrono::milliseconds(50);  // between checks whether the client is still there

HttpResponse json_response(std::string body, int status = 200);

/// Returns the response for a request that is refused.
HttpResponse refusal(const ApiError& error);

/// Returns the response with the answer of a job: one that is sent while it is generated, or a whole one, for which this waits. The request
/// receives a note for the log: "12 prompt tokens, 30 generated, first after 0.15 s, 41.5 tokens/s". Throws ApiError if the answer fails
/// before its response.
HttpResponse job_response(const ResponseHead& head, const std::shared_ptr<Job>& job, HttpRequest& request);

}  // namespace dikkat::serve
