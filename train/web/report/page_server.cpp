#include "train/web/report/page_server.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "autograd/base/error.h"
#include "train/web/http/http_server.h"
#include "train/web/report/page.h"
#include "train/web/report/page_data.h"

namespace dikkat {
namespace {

namespace fs = std::filesystem;

constexpr int kFirstPort = 8717;
constexpr int kPortsToTry = 50;
constexpr int kMostConnections = 32;  // each open page keeps one
constexpr int kMostListeners = 24;    // fewer than the connections, so that some are left for requests

/// The current state of the runs, with a version number that grows whenever they have changed.
class WatchedRuns {
 public:
  explicit WatchedRuns(std::vector<fs::path> paths) : paths_(std::move(paths)) {
    for (const fs::path& path : paths_) {
      readers_.emplace_back(path);
    }
    refresh();
  }

  /// Reads the files again.
  void refresh() {
    std::vector<RunView> runs;
    bool changed = false;
    for (std::size_t i = 0; i < paths_.size(); ++i) {
      changed = readers_[i].update() || changed;
      runs.push_back(view_run(paths_[i], readers_[i].history()));
    }
    std::string states;
    for (const RunView& run : runs) {
      states += concat(name_of(run.state), ' ', run.checkpoints.size(), ' ');
    }
    const std::lock_guard lock(mutex_);
    if (version_ > 0 && !changed && states == states_) {
      return;
    }
    runs_ = std::move(runs);
    states_ = std::move(states);
    ++version_;
    new_version_.notify_all();
  }

  std::vector<RunView> runs() const {
    const std::lock_guard lock(mutex_);
    return runs_;
  }

  /// Waits until there is a version after `seen`, but only a few seconds, and returns the newest version.
  std::uint64_t wait_after(std::uint64_t seen) const {
    std::unique_lock lock(mutex_);
    new_version_.wait_for(lock, std::chrono::seconds(5), [&] { return version_ > seen || has_ended_; });
    return version_;
  }
  bool has_ended() const {
    const std::lock_guard lock(mutex_);
    return has_ended_;
  }
  void end() {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
    new_version_.notify_all();
  }

 private:
  std::vector<fs::path> paths_;
  std::vector<HistoryReader> readers_;
  mutable std::mutex mutex_;
  mutable std::condition_variable new_version_;
  std::vector<RunView> runs_;
  std::string states_;
  std::uint64_t version_ = 0;
  bool has_ended_ = false;
};

}  // namespace

class PageServer::Parts {
 public:
  Parts(std::vector<fs::path> paths, const Address& address) : runs(std::move(paths)), server(routes(), options(address)) {}

  WatchedRuns runs;
  std::atomic<int> listeners = 0;
  HttpServer server;  // the last member, because its threads use the others

 private:
  static HttpOptions options(const Address& address) {
    return {.host = address.host,
            .port = address.port > 0 ? address.port : kFirstPort,
            .ports = address.port > 0 ? 1 : kPortsToTry,
            .most_connections = kMostConnections,
            .refusal = [](int status, const std::string& what) { return HttpResponse{.status = status, .body = what + '\n'}; }};
  }

  std::vector<HttpRoute> routes() {
    return {{.method = "GET",
             .path = "/",
             .answer =
                 [this](HttpRequest&) { return HttpResponse{.type = "text/html; charset=utf-8", .body = report_page(runs.runs(), true)}; }},
            {.method = "GET",
             .path = "/data.json",
             .answer = [this](HttpRequest&) { return HttpResponse{.type = "application/json", .body = report_data(runs.runs(), true)}; }},
            {.method = "GET", .path = "/events", .answer = [this](HttpRequest&) { return listen(); }}};
  }

  /// Answers /events: sends a line with each new version, and regularly an empty comment, which shows whether the client still listens.
  HttpResponse listen() {
    const std::shared_ptr<void> counted(nullptr, [this](void*) { --listeners; });
    if (++listeners > kMostListeners) {
      return {.status = 503, .body = "too many pages are open\n"};
    }
    return {.type = "text/event-stream", .stream = [this, counted](HttpRequest&, const HttpWrite& write) {
              std::uint64_t seen = 0;  // 0 sends the first line at once, because the data may be newer than the page
              for (bool listens = true; listens;) {
                const std::uint64_t version = runs.wait_after(seen);
                if (runs.has_ended()) {
                  return;
                }
                listens = write(version > seen ? concat("data: ", version, "\n\n") : ":\n\n");
                seen = version;
              }
            }};
  }
};

PageServer::PageServer(std::vector<fs::path> runs, const Address& address) : parts_(std::make_unique<Parts>(std::move(runs), address)) {}

PageServer::~PageServer() = default;

std::string PageServer::url() const { return parts_->server.url(); }

void PageServer::serve(const std::function<bool()>& stop) {
  parts_->server.start();
  constexpr auto kMoment = std::chrono::milliseconds(100);
  constexpr auto kLook = std::chrono::seconds(1);
  auto looked = std::chrono::steady_clock::now();
  while (!stop()) {
    require(parts_->server.is_running(), "the server ended because the system accepts no more connections");
    std::this_thread::sleep_for(kMoment);
    if (const auto now = std::chrono::steady_clock::now(); now - looked >= kLook) {
      parts_->runs.refresh();
      looked = std::chrono::steady_clock::now();
    }
  }
  parts_->runs.end();
  parts_->server.stop();
}

}  // namespace dikkat
