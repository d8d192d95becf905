#include "train/report/page_server.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <httplib.h>
#include <sys/socket.h>

#include "autograd/base/error.h"
#include "train/report/page.h"
#include "train/report/page_data.h"

namespace dikkat {
namespace {

namespace fs = std::filesystem;

constexpr int kFirstPort = 8717;
constexpr int kPortsToTry = 50;
constexpr std::size_t kThreads = 32;      // each open page keeps one
constexpr int kMostListeners = 24;        // so that threads are left for requests
constexpr std::size_t kLargestBody = 1024;

/// The runs as they are now, and a number that grows whenever they have changed.
class WatchedRuns {
 public:
  explicit WatchedRuns(std::vector<fs::path> paths) : paths_(std::move(paths)) {
    for (const fs::path& path : paths_) {
      readers_.emplace_back(path);
    }
    look();
  }

  /// Looks at the files again.
  void look() {
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
    changed_.notify_all();
  }

  std::vector<RunView> runs() const {
    const std::lock_guard lock(mutex_);
    return runs_;
  }

  /// Waits until there is a version after `seen`, for some seconds at most, and returns the newest.
  std::uint64_t wait_after(std::uint64_t seen) const {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(5), [&] { return version_ > seen || ended_; });
    return version_;
  }
  bool ended() const {
    const std::lock_guard lock(mutex_);
    return ended_;
  }
  void end() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }

 private:
  std::vector<fs::path> paths_;
  std::vector<HistoryReader> readers_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::vector<RunView> runs_;
  std::string states_;
  std::uint64_t version_ = 0;
  bool ended_ = false;
};

}  // namespace

bool is_loopback(const std::string& host) { return host == "127.0.0.1" || host == "localhost" || host == "::1"; }

namespace {

/// The host that a browser asked for. Another one than ours on a loopback address means that a page of somebody else wants to read ours.
std::string host_of(const httplib::Request& request) {
  std::string host = request.get_header_value("Host");
  if (host.starts_with('[')) {
    return host.substr(1, host.find(']') - 1);
  }
  return host.substr(0, host.find(':'));
}

}  // namespace

class PageServer::Parts {
 public:
  Parts(std::vector<fs::path> paths, Address address) : runs(std::move(paths)), host(std::move(address.host)) {
    server.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
    server.set_payload_max_length(kLargestBody);
    server.set_socket_options([](int socket) {  // not the library's own, by which two servers would share a port
      const int yes = 1;
      ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    server.set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      if (is_loopback(host) && !is_loopback(host_of(request))) {
        response.status = 403;
        response.set_content("this server answers to localhost alone\n", "text/plain");
        return httplib::Server::HandlerResponse::Handled;
      }
      return httplib::Server::HandlerResponse::Unhandled;
    });
    server.Get("/", [this](const httplib::Request&, httplib::Response& response) {
      response.set_content(report_page(runs.runs(), true), "text/html; charset=utf-8");
    });
    server.Get("/data.json", [this](const httplib::Request&, httplib::Response& response) {
      response.set_header("Cache-Control", "no-store");
      response.set_content(report_data(runs.runs(), true), "application/json");
    });
    server.Get("/events", [this](const httplib::Request&, httplib::Response& response) { listen(response); });
    bind(address.port);
  }

  void bind(int wanted) {
    const int first = wanted > 0 ? wanted : kFirstPort;
    const int count = wanted > 0 ? 1 : kPortsToTry;
    for (port = first; port < first + count; ++port) {
      if (server.bind_to_port(host.c_str(), port)) {
        return;
      }
    }
    fail_input("cannot listen on ", host, count == 1 ? concat(", port ", first, ": is it taken?") : concat(": no port from ", first, " on is free"));
  }

  /// Answers /events: a line with each new version, and now and then an empty comment, which shows whether somebody still listens.
  void listen(httplib::Response& response) {
    if (listeners.fetch_add(1) >= kMostListeners) {
      --listeners;
      response.status = 503;
      response.set_content("too many pages are open\n", "text/plain");
      return;
    }
    response.set_header("Cache-Control", "no-store");
    const auto seen = std::make_shared<std::uint64_t>(0);  // the first answer is at once: there may be news since the page was drawn
    response.set_chunked_content_provider(
        "text/event-stream",
        [this, seen](std::size_t, httplib::DataSink& sink) {
          const std::uint64_t version = runs.wait_after(*seen);
          if (runs.ended()) {
            sink.done();
            return true;
          }
          const std::string line = version > *seen ? concat("data: ", version, "\n\n") : ":\n\n";
          *seen = version;
          return sink.write(line.data(), line.size());
        },
        [this](bool) { --listeners; });
  }

  WatchedRuns runs;
  std::string host;
  int port = 0;
  std::atomic<int> listeners = 0;
  httplib::Server server;
};

PageServer::PageServer(std::vector<fs::path> runs, const Address& address) : parts_(std::make_unique<Parts>(std::move(runs), address)) {}

PageServer::~PageServer() = default;

std::string PageServer::url() const {
  const bool six = parts_->host.find(':') != std::string::npos;
  return concat("http://", six ? "[" : "", parts_->host, six ? "]" : "", ':', parts_->port, '/');
}

void PageServer::serve(const std::function<bool()>& stop) {
  std::thread server([&] { parts_->server.listen_after_bind(); });
  constexpr auto kMoment = std::chrono::milliseconds(100);
  constexpr auto kLook = std::chrono::seconds(1);
  while (!parts_->server.is_running()) {  // before that, stop() would do nothing
    std::this_thread::sleep_for(kMoment / 10);
  }
  auto looked = std::chrono::steady_clock::now();
  while (!stop()) {
    std::this_thread::sleep_for(kMoment);
    if (const auto now = std::chrono::steady_clock::now(); now - looked >= kLook) {
      parts_->runs.look();
      looked = std::chrono::steady_clock::now();
    }
  }
  parts_->runs.end();
  parts_->server.stop();
  server.join();
}

}  // namespace dikkat
