#include "train/web/serve/classify_server.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>

#include <nlohmann/json.hpp>

#include "train/web/http/http_server.h"
#include "train/web/serve/api_key.h"
#include "train/web/serve/api_response.h"
#include "train/web/serve/job_response.h"
#include "train/web/serve/request_body.h"
#include "train/web/serve/request_fields.h"

namespace dikkat::serve {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::size_t kMostTexts = 2048;  // of a request

std::vector<std::string> input_of(const JsonFields& fields) {
  constexpr const char* kExpected = ", expected a text, or a list of texts";
  const json* const input = fields.find("input");
  if (input == nullptr) {
    refuse("input", "there is no input", kExpected);
  }
  if (input->is_string()) {
    return {input->get<std::string>()};
  }
  if (!input->is_array() || input->empty() || !std::ranges::all_of(*input, [](const json& one) { return one.is_string(); })) {
    refuse("input", "input ", found_value(*input), kExpected);
  }
  if (input->size() > kMostTexts) {
    refuse("input", "input has ", input->size(), " texts, expected at most ", kMostTexts, ": send several requests");
  }
  return input->get<std::vector<std::string>>();
}

/// Computes for threads that wait: each call runs on the thread that calls run().
class Handed {
 public:
  explicit Handed(std::size_t most) : most_(most) {}

  /// Runs f() on the other thread, and rethrows what it throws. Throws ApiError if too many wait, or the server ends.
  void operator()(const std::function<void()>& f) {
    Task task{.run = &f};
    std::unique_lock lock(mutex_);
    if (is_closed_ || tasks_.size() >= most_) {
      throw ApiError(503, is_closed_ ? "the server ends" : "too many requests wait: try again later");
    }
    tasks_.push_back(&task);
    changed_.notify_all();
    changed_.wait(lock, [&] { return task.is_done; });
    if (task.error) {
      std::rethrow_exception(task.error);
    }
  }

  /// Runs tasks until `stop` returns true. Later calls are refused, and those that wait fail.
  void run(const std::function<bool()>& stop) {
    constexpr std::chrono::milliseconds kInterval(100);
    std::unique_lock lock(mutex_);
    while (!stop()) {
      changed_.wait_for(lock, kInterval, [&] { return !tasks_.empty(); });
      if (tasks_.empty()) {
        continue;
      }
      Task& task = *tasks_.front();
      tasks_.pop_front();
      lock.unlock();
      try {
        (*task.run)();
      } catch (...) {
        task.error = std::current_exception();
      }
      lock.lock();
      task.is_done = true;
      changed_.notify_all();
    }
    is_closed_ = true;
    for (Task* task : tasks_) {
      task->error = std::make_exception_ptr(ApiError(503, "the server ends"));
      task->is_done = true;
    }
    tasks_.clear();
    changed_.notify_all();
  }

 private:
  struct Task {
    const std::function<void()>* run = nullptr;
    std::exception_ptr error{};
    bool is_done = false;
  };

  const std::size_t most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task*> tasks_;
  bool is_closed_ = false;
};

}  // namespace

std::string classify_json(const ServedClassifier& model, std::string_view body) {
  const json object = parse_body(body);
  const JsonFields fields = fields_of(object);
  require_names(object, {"model", "input"});
  read_model(fields, {model.name});
  const std::vector<std::string> texts = input_of(fields);
  std::vector<ServedClassifier::Answer> answers;
  try {
    answers = model.classify(texts);
  } catch (const InputError& error) {
    refuse("input", "input: ", error.what());
  }
  // Write the answers.
  ordered_json data = ordered_json::array();
  index tokens = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const std::vector<double>& probabilities = answers[i].probabilities;
    ordered_json label;
    if (model.several) {
      label = ordered_json::array();
      for (std::size_t k = 0; k < probabilities.size(); ++k) {
        if (probabilities[k] >= 0.5) {
          label.push_back(model.labels[k]);
        }
      }
    } else {
      label = model.labels[static_cast<std::size_t>(std::ranges::max_element(probabilities) - probabilities.begin())];
    }
    data.push_back({{"index", i}, {"label", std::move(label)}, {"probs", probabilities}, {"num_classes", probabilities.size()}});
    tokens += answers[i].tokens;
  }
  return json_text(ordered_json{{"object", "list"},
                                {"data", std::move(data)},
                                {"model", model.name},
                                {"usage", {{"prompt_tokens", tokens}, {"total_tokens", tokens}}}});
}

class ClassifyServer::Parts {
 public:
  Parts(ServedClassifier model, Options options)
      : model_(std::move(model)), options_(std::move(options)), handed_(options_.most_waiting), server_(routes(), http_options()) {}

  std::string url() const { return server_.url(); }

  void serve(const std::function<bool()>& stop) {
    server_.start();
    handed_.run([&] { return stop() || !server_.is_running(); });
    const bool was_asked = stop();
    server_.stop();
    require(was_asked, "the server ended: the system gives it no more connections");
  }

 private:
  HttpOptions http_options() {
    constexpr int kMoreConnections = 32;
    return {.host = options_.host,
            .port = options_.port,
            .socket = options_.socket,
            .most_connections = static_cast<int>(options_.most_waiting) + kMoreConnections,
            .largest_body = kLargestRequest,
            .refusal = [](int status, const std::string& what) { return serve::refusal({status, what}); },
            .admit =
                [this](const HttpRequest& request) {
                  const bool is_open = options_.api_key.empty() || request.path == "/health";
                  const auto error = is_open ? std::nullopt : key_error(request, options_.api_key);
                  return error ? std::optional(serve::refusal(*error)) : std::nullopt;
                },
            .finished =
                [this](const HttpRequest& request, int status) {
                  if (options_.log) {
                    options_.log(concat(request.method.empty() ? "(no request)" : request.method, ' ', request.path, ' ', status,
                                        request.note.empty() ? "" : ", ", request.note));
                  }
                }};
  }

  std::vector<HttpRoute> routes() {
    const auto models = [this](HttpRequest&) {
      return json_response(models_json({{.name = model_.name, .created = model_.created, .context = model_.context}}));
    };
    const auto classify = [this](HttpRequest& request) { return answer_of(request); };
    std::vector<HttpRoute> routes{
        {.method = "GET", .path = "/health", .answer = [](HttpRequest&) { return json_response(R"({"status":"ok"})"); }},
        {.method = "POST", .path = "/classify", .answer = classify},
        {.method = "POST", .path = "/v1/classify", .answer = classify},
        {.method = "GET", .path = "/v1/models", .answer = models},
    };
    for (const char* path : {"/v1/completions", "/v1/chat/completions", "/completions", "/chat/completions", "/v1/embeddings"}) {
      routes.push_back({.method = "POST",
                        .path = path,
                        .answer =
                            [](HttpRequest&) {
                              return serve::refusal(
                                  {400,
                                   "the model is a classifier, which gives texts labels and does not write: send texts to "
                                   "/classify",
                                   "", "classifier"});
                            },
                        .is_listed = false});
    }
    return routes;
  }

  HttpResponse answer_of(HttpRequest& request) {
    try {
      std::string answer;
      handed_([&] { answer = classify_json(model_, request.body); });
      return json_response(answer);
    } catch (const ApiError& error) {
      request.note = error.what();
      return serve::refusal(error);
    }
  }

  const ServedClassifier model_;
  const Options options_;
  Handed handed_;
  HttpServer server_;  // declared last, because its threads use the other members
};

ClassifyServer::ClassifyServer(ServedClassifier model, const Options& options)
    : parts_(std::make_unique<Parts>(std::move(model), options)) {}
ClassifyServer::~ClassifyServer() = default;
std::string ClassifyServer::url() const { return parts_->url(); }
void ClassifyServer::serve(const std::function<bool()>& stop) { parts_->serve(stop); }

}  // namespace dikkat::serve
