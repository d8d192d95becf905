#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace dikkat {

/// Serves the report of runs over HTTP: the page at /, its data at /data.json, and at /events a line whenever the data has changed
/// (server-sent events). Meanwhile runs may start, stop, continue, be moved or be removed; their last data is kept.
class PageServer {
 public:
  /// The address at which the server listens. Port 0 means the first free port of 50 starting at 8717.
  struct Address {
    std::string host = "127.0.0.1";
    int port = 0;
  };

  /// Listens at the address. Throws InputError if that is not possible.
  PageServer(std::vector<std::filesystem::path> runs, const Address& address);
  ~PageServer();
  PageServer(const PageServer&) = delete;
  PageServer& operator=(const PageServer&) = delete;

  /// Returns the address of the page, such as "http://127.0.0.1:8717/".
  std::string url() const;

  /// Serves until `stop` returns true; calls it several times a second.
  void serve(const std::function<bool()>& stop);

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace dikkat
