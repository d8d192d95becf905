#include "train/web/serve/completion_server.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <random>
#include <set>

#include "train/sample/prompt_cache.h"
#include "train/system/machine_memory.h"
#include "train/web/http/http_server.h"
#include "train/web/http/open_files.h"
#include "train/web/serve/answer_constraints.h"
#include "train/web/serve/api_key.h"
#include "train/web/serve/chat_page.h"
#include "train/web/serve/classify_endpoint.h"
#include "train/web/serve/embedding_queue.h"
#include "train/web/serve/embeddings_endpoint.h"
#include "train/web/serve/feedback.h"
#include "train/web/serve/job_response.h"
#include "train/web/serve/job_runner.h"
#include "train/web/serve/server_metrics.h"
#include "train/web/serve/text_endpoints.h"

namespace dikkat::serve {
namespace {

constexpr int kMoreConnections = 32;                      // connections in addition to those of running and waiting requests
constexpr std::size_t kOtherFiles = 320;                  // connections that have been answered, and the program's own files
constexpr std::size_t kLargeBody = std::size_t{1} << 18;  // body size at which the memory of a request is returned to the system
constexpr std::string_view kVersion = "/v1";              // the beginning of the paths of OpenAI's protocol

/// Returns a number that nobody can guess.
std::uint64_t random_number() {
  thread_local std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

std::string random_name(const char* begin) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string name = begin;
  for (std::uint64_t number = random_number(), i = 0; i < 16; ++i, number >>= 4) {
    name += kDigits[number & 15];
  }
  return name;
}

ListedModel listed(const ServedModel& model) {
  return {.name = model.name, .created = model.created, .context = model.context(), .base = model.base};
}

/// Throws InputError for two models with one name.
std::vector<ServedModel> with_own_names(std::vector<ServedModel> models) {
  for (std::size_t i = 0; i < models.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      require_input(models[i].name != models[j].name, "two models have the name ", models[i].name,
                    ", expected a name of its own for each: clients choose a model by its name");
    }
  }
  return models;
}

std::map<std::string, AnswerConstraints> constraints_of(const std::vector<ServedModel>& models) {
  std::map<std::string, AnswerConstraints> all;
  for (const ServedModel& model : models) {
    all.try_emplace(model.name, model);
  }
  return all;
}

}  // namespace

class CompletionServer::Parts {
 public:
  Parts(std::vector<ServedModel> models, Options options)
      : models_(with_own_names(std::move(models))),
        options_(std::move(options)),
        page_(chat_page({.takes_feedback = !options_.feedback.empty(),
                         .takes_conversations = models_.front().form.has_value(),
                         .can_switch_thinking = std::ranges::all_of(
                             models_, [](const ServedModel& one) { return one.form && one.form->mentions("enable_thinking"); })})),
        feedback_(options_.feedback.empty() ? nullptr : std::make_unique<FeedbackFile>(options_.feedback)),
        prompts_(kept_prompts()),
        queue_(options_.most_waiting),
        embeddings_(options_.most_waiting, [this] { queue_.wake(); }),
        server_(models_.front().labels ? classifier_routes() : routes(), http_options()) {
    if (!models_.front().labels) {
      runner_.emplace(models_.front().gpt, queue_, runner_options());
    }
    const std::size_t wanted = static_cast<std::size_t>(most_connections()) + kOtherFiles, files = permit_open_files(wanted);
    require_input(wanted <= files, "this process may have ", files, " files open, and ", options_.most_waiting,
                  " waiting requests (--max-waiting) need ", wanted, ": raise the limit (ulimit -n), or let fewer requests wait");
  }

  std::string url() const { return server_.url(); }

  void serve(const std::function<bool()>& stop) {
    server_.start();
    const auto ends = [&] { return stop() || !server_.is_running(); };
    runner_ ? runner_->run(ends) : classify_until(ends);
    const bool was_asked = stop();
    server_.stop();
    require(was_asked, "the server ended: the system gives it no more connections");
  }

 private:
  std::optional<PromptCache> kept_prompts() const {
    return options_.prompt_positions == 0
               ? std::nullopt
               : std::optional<PromptCache>(std::in_place, models_.front().gpt,
                                            PromptCache::Options{.positions = options_.prompt_positions, .cache = options_.cache});
  }

  int most_connections() const { return static_cast<int>(options_.most_waiting) + static_cast<int>(options_.streams) + kMoreConnections; }

  JobRunner::Options runner_options() {
    return {.scheduler = {.streams = options_.streams,
                          .cache = options_.cache,
                          .prompts = prompts_ ? &*prompts_ : nullptr,
                          .scores_prompts = true},
            .grace = options_.grace,
            .metrics = &metrics_,
            .other_work = [this] { compute_vectors(); },
            .log = options_.log};
  }

  /// Computes some of the vectors that clients wait for.
  void compute_vectors() {
    if (embeddings_.step()) {
      queue_.wake();
    }
  }

  /// Does the work of a classifier, which generates no answers.
  void classify_until(const std::function<bool()>& stop) {
    constexpr std::chrono::milliseconds kIdleMoment(100);
    while (!stop()) {
      queue_.take(kIdleMoment);  // returns when a request waits for labels
      compute_vectors();
    }
    queue_.close();
  }

  HttpOptions http_options() {
    return {.host = options_.host,
            .port = options_.port,
            .socket = options_.socket,
            .most_connections = most_connections(),
            .largest_body = kLargestRequest,
            .refusal = [](int status, const std::string& what) { return serve::refusal({status, what}); },
            .admit = [this](const HttpRequest& request) { return admit(request); },
            .finished =
                [this](const HttpRequest& request, int status) {
                  metrics_.count_response(endpoint_of(request.path), status);
                  if (options_.log) {
                    options_.log(concat(request.method.empty() ? "(no request)" : request.method, ' ', request.path, ' ', status,
                                        request.note.empty() ? "" : ", ", request.note));
                  }
                }};
  }

  std::vector<HttpRoute> routes() {
    // List the paths of the protocol and of this server.
    std::vector<HttpRoute> routes{
        {.method = "GET", .path = "/", .answer = [this](HttpRequest&) { return page_; }},
        post_route("/feedback", [this](HttpRequest& request) { return note_feedback(request); }),
        post_route("/v1/completions", [this](HttpRequest& request) { return answer_of(request, Endpoint::completions); }),
        post_route("/v1/chat/completions", [this](HttpRequest& request) { return answer_of(request, Endpoint::chat); }),
        text_route("/tokenize", tokenize_json),
        text_route("/detokenize", detokenize_json),
        text_route("/apply-template", apply_template_json),
        {.method = "GET",
         .path = "/tokenizer_info",
         .answer = [this](HttpRequest&) { return json_response(tokenizer_info_json(models_.front())); }},
        post_route("/v1/embeddings", [this](HttpRequest& request) { return embeddings(request); }),
    };
    routes.back().is_listed = std::ranges::any_of(models_, [](const ServedModel& model) { return model.vectors != nullptr; });
    add_common_to(routes);
    return routes;
  }

  /// Returns the routes of a classifier. Those that need another model are refused by name.
  std::vector<HttpRoute> classifier_routes() {
    std::vector<HttpRoute> routes{post_route("/v1/classify", [this](HttpRequest& request) { return labels(request); })};
    for (const char* path : {"/v1/completions", "/v1/chat/completions", "/v1/embeddings"}) {
      routes.push_back(post_route(path, [](HttpRequest&) -> HttpResponse {
        throw ApiError(400, "the model is a classifier, which gives texts labels and does not write: send texts to /classify", "",
                       "classifier");
      }));
      routes.back().is_listed = false;
    }
    add_common_to(routes);
    return routes;
  }

  /// Adds the routes that all servers have, and the paths without /v1.
  void add_common_to(std::vector<HttpRoute>& routes) {
    routes.push_back({.method = "GET", .path = "/health", .answer = [this](HttpRequest&) { return health(); }});
    routes.push_back({.method = "GET", .path = "/metrics", .answer = [this](HttpRequest&) { return metrics(); }});
    routes.push_back(
        {.method = "GET", .path = "/v1/models", .answer = [this](HttpRequest&) { return json_response(models_json(listed_models())); }});
    for (const ServedModel& model : models_) {
      routes.push_back({.method = "GET", .path = "/v1/models/" + model.name, .answer = [&model](HttpRequest&) {
                          return json_response(model_json(listed(model)));
                        }});
    }
    for (const HttpRoute& route : routes) {
      endpoints_.insert(route.path);
    }
    // Some clients leave out /v1.
    for (std::size_t i = 0, count = routes.size(); i < count; ++i) {
      if (routes[i].path.starts_with(kVersion)) {
        HttpRoute route = routes[i];
        route.path.erase(0, kVersion.size());
        route.is_listed = false;
        routes.push_back(std::move(route));
      }
    }
  }

  /// Returns the path under which requests for `path` are counted.
  std::string endpoint_of(const std::string& path) const {
    for (const std::string& known : {path, concat(kVersion, path)}) {
      if (endpoints_.contains(known)) {
        return known;
      }
    }
    return "other";
  }

  /// Returns a route whose answer may be an ApiError.
  static HttpRoute post_route(const char* path, std::function<HttpResponse(HttpRequest& request)> answer) {
    return {.method = "POST", .path = path, .answer = [answer = std::move(answer)](HttpRequest& request) {
              const FreeMemoryReturner at_end(request.body.size() >= kLargeBody);
              try {
                return answer(request);
              } catch (const std::bad_alloc&) {
                request.body = {};  // before the memory is returned to the system
                throw;
              } catch (const ApiError& error) {
                request.note = error.what();
                return serve::refusal(error);
              }
            }};
  }

  /// Returns a route whose answer is computed at once from the body of the request.
  HttpRoute text_route(const char* path, std::string (*answer)(const std::vector<ServedModel>& models, std::string_view body)) {
    return post_route(path, [this, answer](HttpRequest& request) { return json_response(answer(models_, request.body)); });
  }

  std::vector<ListedModel> listed_models() const {
    std::vector<ListedModel> all;
    for (const ServedModel& model : models_) {
      all.push_back(listed(model));
    }
    return all;
  }

  HttpResponse health() const { return queue_.is_closed() ? serve::refusal(server_ends()) : json_response(R"({"status":"ok"})"); }

  HttpResponse metrics() const {
    return {.type = ServerMetrics::kType,
            .body = metrics_.text({.waiting = static_cast<index>(queue_.waiting()), .resident = process_memory().resident})};
  }

  HttpResponse note_feedback(const HttpRequest& request) {
    if (!feedback_) {
      throw ApiError(404, "this server keeps no ratings: start it with --feedback FILE", "", "no_feedback");
    }
    feedback_->add(request.body);
    return json_response(R"({"status":"ok"})");
  }

  std::optional<HttpResponse> admit(const HttpRequest& request) const {
    const bool is_open = options_.api_key.empty() || request.path == "/" || request.path == "/health";
    const std::optional<ApiError> error = is_open ? std::nullopt : key_error(request, options_.api_key);
    return error ? std::optional(serve::refusal(*error)) : std::nullopt;
  }

  HttpResponse embeddings(HttpRequest& request) {
    const EmbeddingsRequest wanted = read_embeddings_request(request.body, models_);
    return json_response(embeddings_json(wanted, vectors_of(wanted, request)));
  }

  HttpResponse labels(HttpRequest& request) {
    const TextInputs wanted = read_classify_request(request.body, models_);
    return json_response(classify_json(*models_.front().labels, wanted, vectors_of(wanted, request)));
  }

  /// Returns the numbers that the model computes for the texts of a request.
  std::vector<float> vectors_of(const TextInputs& wanted, HttpRequest& request) {
    request.body = {};
    request.note = concat(wanted.texts.size(), " texts, ", wanted.tokens(), " tokens");
    return embeddings_.vectors(model_named(models_, wanted.model), wanted.texts, patience(request));
  }

  HttpResponse answer_of(HttpRequest& request, Endpoint endpoint) {
    ApiRequest wanted = read_api_request(request.body, endpoint, names_of(models_));
    const ServedModel& model = model_named(models_, wanted.model);
    request.body = {};
    if (!wanted.seed) {
      wanted.seed = Seed{.bits = random_number() >> 11};  // 53 bits, which JavaScript's numbers hold too
    }
    const ResponseHead head{.endpoint = endpoint,
                            .id = random_name(endpoint == Endpoint::chat ? "chatcmpl-" : "cmpl-"),
                            .created = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now()),
                            .model = model.name,
                            .fingerprint = model.fingerprint,
                            .seed = *wanted.seed,
                            .has_scores = wanted.alternatives.has_value(),
                            .has_short_ids = model.answers.calls && model.answers.calls->short_ids};
    std::vector<std::vector<Token>> prompts = prompt_tokens(model, wanted);
    wanted.options.constraint = constraints_.at(model.name).of(wanted, prompts.front(), patience(request));
    const auto job = std::make_shared<Job>(model, std::move(wanted), std::move(prompts));
    queue_.add(job);
    return job_response(head, job, request);
  }

  /// Returns a function that throws ApiError when the client is gone or the server ends. It checks only at intervals, however often it is
  /// called.
  std::function<void()> patience(const HttpRequest& request) const {
    return [this, &request, next = Job::Clock::now() + kClientCheck]() mutable {
      if (Job::Clock::now() < next) {
        return;
      }
      next = Job::Clock::now() + kClientCheck;
      if (request.is_gone()) {
        throw ApiError(499, "the client went away");
      }
      if (queue_.is_closed()) {
        throw server_ends();
      }
    };
  }

  const std::vector<ServedModel> models_;
  const Options options_;
  const HttpResponse page_;
  const std::unique_ptr<FeedbackFile> feedback_;  // null: ratings are not kept
  std::set<std::string> endpoints_;               // the paths of the routes
  ServerMetrics metrics_;
  std::optional<PromptCache> prompts_;
  std::map<std::string, AnswerConstraints> constraints_ = constraints_of(models_);  // the keys are the names of the models
  JobQueue queue_;
  EmbeddingQueue embeddings_;
  std::optional<JobRunner> runner_;  // absent for a classifier
  HttpServer server_;                // declared last, because its threads use the other members
};

CompletionServer::CompletionServer(std::vector<ServedModel> models, const Options& options)
    : parts_(std::make_unique<Parts>(std::move(models), options)) {}
CompletionServer::~CompletionServer() = default;
std::string CompletionServer::url() const { return parts_->url(); }
void CompletionServer::serve(const std::function<bool()>& stop) { parts_->serve(stop); }

}  // namespace dikkat::serve
