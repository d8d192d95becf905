#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace dikkat {

/// Serves the report of runs over HTTP: the page at /, its data at /data.json, and at /events a line whenever the data has changed
/// (server-sent events). Runs may begin, stop, go on, be moved or removed meanwhile: what was read of them stays.
class PageServer {
 public:
  /// Where it listens. Port 0: the first free port from 8717 on.
  struct Address {
    std::string host = "127.0.0.1";
    int port = 0;
  };

  /// Throws InputError if it cannot listen there.
  PageServer(std::vector<std::filesystem::path> runs, const Address& address);
  ~PageServer();
  PageServer(const PageServer&) = delete;
  PageServer& operator=(const PageServer&) = delete;

  /// "http://127.0.0.1:8717/"
  std::string url() const;

  /// Serves until `stop` returns true, which it asks several times a second.
  void serve(const std::function<bool()>& stop);

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace dikkat
