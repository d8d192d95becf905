#include "train/web/serve/server_metrics.h"

#include <algorithm>

#include <fmt/format.h>

namespace dikkat::serve {
namespace {

void write_head(std::string& out, const char* name, const char* type, const char* help) {
  out += fmt::format("# HELP {0} {2}\n# TYPE {0} {1}\n", name, type, help);
}

template <class Number>
void write_value(std::string& out, const char* name, const char* type, const char* help, Number value) {
  write_head(out, name, type, help);
  out += fmt::format("{} {}\n", name, value);
}

/// Returns a label's value with the format's escapes.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') {
      out += '\\';
    }
    out += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return out;
}

}  // namespace

void SecondsHistogram::observe(double seconds) {
  ++counts_[static_cast<std::size_t>(std::ranges::lower_bound(kBounds, seconds) - kBounds.begin())];
  sum_ += seconds;
}

void SecondsHistogram::write(std::string& out, const char* name, const char* help) const {
  write_head(out, name, "histogram", help);
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    total += counts_[i];
    out += fmt::format("{}_bucket{{le=\"{}\"}} {}\n", name, i < kBounds.size() ? fmt::format("{}", kBounds[i]) : "+Inf", total);
  }
  out += fmt::format("{0}_sum {1}\n{0}_count {2}\n", name, sum_, total);
}

void ServerMetrics::count_response(std::string_view endpoint, int status) {
  const std::lock_guard lock(mutex_);
  ++responses_[{std::string(endpoint), status}];
}

void ServerMetrics::begin_answer(index prompt_tokens) {
  const std::lock_guard lock(mutex_);
  prompt_tokens_ += static_cast<std::uint64_t>(prompt_tokens);
  ++running_;
}

void ServerMetrics::count_cached(index tokens) {
  const std::lock_guard lock(mutex_);
  cached_tokens_ += static_cast<std::uint64_t>(tokens);
}

void ServerMetrics::count_token(std::optional<double> first_after) {
  const std::lock_guard lock(mutex_);
  ++generated_tokens_;
  if (first_after) {
    first_token_.observe(*first_after);
  }
}

void ServerMetrics::end_answer(double seconds) {
  const std::lock_guard lock(mutex_);
  --running_;
  request_.observe(seconds);
}

std::string ServerMetrics::text(const Now& now) const {
  const std::lock_guard lock(mutex_);
  std::string out;
  write_head(out, "dikkat_http_requests_total", "counter", "Requests that were answered, by endpoint and HTTP status.");
  for (const auto& [of, count] : responses_) {
    out += fmt::format("dikkat_http_requests_total{{endpoint=\"{}\",status=\"{}\"}} {}\n", escaped(of.first), of.second, count);
  }
  write_value(out, "dikkat_prompt_tokens_total", "counter", "Tokens of the prompts of answers that have begun.", prompt_tokens_);
  write_value(out, "dikkat_prompt_cache_hit_tokens_total", "counter", "Prompt tokens whose keys and values were in the cache.",
              cached_tokens_);
  write_value(out, "dikkat_generated_tokens_total", "counter", "Tokens that were generated.", generated_tokens_);
  write_value(out, "dikkat_requests_running", "gauge", "Requests whose answers are being generated.", running_);
  write_value(out, "dikkat_requests_waiting", "gauge", "Requests that wait for their turn.", now.waiting);
  first_token_.write(out, "dikkat_time_to_first_token_seconds", "Seconds from the arrival of a request to its first token.");
  request_.write(out, "dikkat_request_duration_seconds", "Seconds from the arrival of a request to the end of its answer.");
  write_value(out, "process_resident_memory_bytes", "gauge", "Bytes of this process in memory.", now.resident);
  return out;
}

}  // namespace dikkat::serve
