#include "train/web/serve/job_response.h"

#include <cmath>
#include <utility>
#include <vector>

namespace dikkat::serve {
namespace {

constexpr const char* kGone = "the client went away";

double rounded(double value, double digits) { return std::round(value * digits) / digits; }

std::string note_of(const Job& job) {
  const Usage usage = job.usage();
  return concat(usage.prompt, " prompt tokens, ", usage.completion, " generated, first after ", rounded(job.first_token(), 1000), " s, ",
                rounded(usage.rate(), 10), " tokens/s",
                job.request().ignored.empty() ? "" : concat(", without an effect: ", job.request().ignored));
}

HttpResponse whole_response(const ResponseHead& head, Job& job, HttpRequest& request) {
  std::vector<AnswerDelta> choices(static_cast<std::size_t>(job.choices()));
  while (!job.is_over()) {
    for (AnswerDelta& piece : job.take(kClientCheck)) {
      AnswerDelta& choice = choices[static_cast<std::size_t>(piece.choice)];
      choice.append(std::move(piece));
    }
    if (request.is_gone()) {
      job.cancel();
      request.note = kGone;
      return refusal({499, kGone});
    }
  }
  request.note = note_of(job);
  return json_response(response_json(head, choices, job.usage()));
}

void stream(const ResponseHead& head, Job& job, HttpRequest& request, const HttpWrite& write) {
  const bool with_usage = job.request().streams_usage;
  bool listens = true;
  if (head.endpoint == Endpoint::chat) {
    for (index choice = 0; choice < job.choices(); ++choice) {
      listens = listens && write(role_event(head, choice, with_usage));
    }
  }
  try {
    while (listens && !job.is_over()) {
      std::string events;
      for (const AnswerDelta& piece : job.take(kClientCheck)) {
        events += piece_event(head, piece, with_usage);
      }
      listens = write(events) && !request.is_gone();
    }
    if (listens) {
      write((with_usage ? usage_event(head, job.usage()) : "") + last_event());
      request.note = note_of(job);
      return;
    }
    request.note = kGone;
  } catch (const ApiError& error) {
    write(error_event(error));
    request.note = error.what();
  }
  job.cancel();
}

}  // namespace

HttpResponse json_response(std::string body, int status) { return {.status = status, .type = "application/json", .body = std::move(body)}; }

HttpResponse refusal(const ApiError& error) {
  HttpResponse response = json_response(error_json(error), error.status());
  if (error.status() == 503) {
    response.headers.emplace_back("Retry-After", "1");
  }
  if (error.status() == 401) {
    response.headers.emplace_back("WWW-Authenticate", "Bearer");
  }
  return response;
}

HttpResponse job_response(const ResponseHead& head, const std::shared_ptr<Job>& job, HttpRequest& request) {
  if (!job->request().streams) {
    return whole_response(head, *job, request);
  }
  return {.type = "text/event-stream",
          .stream = [head, job](HttpRequest& asked, const HttpWrite& write) { stream(head, *job, asked, write); },
          .filler = ":\n\n"};
}

}  // namespace dikkat::serve
