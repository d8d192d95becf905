#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "autograd/base/index.h"

namespace dikkat::serve {

/// Counts how long something took, by upper bounds in seconds.
class SecondsHistogram {
 public:
  static constexpr std::array kBounds = {0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0};

  void observe(double seconds);
  /// Appends the lines of a metric of type histogram.
  void write(std::string& out, const char* name, const char* help) const;

 private:
  std::array<std::uint64_t, kBounds.size() + 1> counts_{};  // the last one counts values above all bounds
  double sum_ = 0;
};

/// The counters of a server, which GET /metrics shows. All threads may use it at once.
class ServerMetrics {
 public:
  /// The content type of text().
  static constexpr const char* kType = "text/plain; version=0.0.4; charset=utf-8";

  /// Values that are measured for each text().
  struct Now {
    index waiting = 0;         // requests that wait for their turn
    std::size_t resident = 0;  // bytes of this process in memory
  };

  /// Counts a response. `endpoint` must be one of a few names, because each has its own counters.
  void count_response(std::string_view endpoint, int status);
  /// Counts an answer that begins, and the tokens of its prompt.
  void begin_answer(index prompt_tokens);
  /// Counts prompt tokens whose keys and values came from the cache.
  void count_cached(index tokens);
  /// Counts a token of an answer. For the first one, `first_after` is the seconds since its request arrived.
  void count_token(std::optional<double> first_after = std::nullopt);
  /// Counts the end of an answer that has begun, whatever the reason, by the seconds since its request arrived.
  void end_answer(double seconds);

  /// Returns all metrics in Prometheus's text format, version 0.0.4.
  std::string text(const Now& now) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, std::uint64_t, std::less<>> responses_;  // the keys are endpoint and status
  std::uint64_t prompt_tokens_ = 0, cached_tokens_ = 0, generated_tokens_ = 0;
  index running_ = 0;
  SecondsHistogram first_token_, request_;
};

}  // namespace dikkat::serve
