#pragma once

#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/base/parallel.h"
#include "bench/machine.h"
#include "bench/measure.h"

// Benchmarks of kernels that memory bandwidth limits: their times, and their shares of the copy bandwidth that this process measures.
namespace dikkat::bench {

struct MemoryCase {
  std::string name;
  double bytes;  // that have to be read and written, each once
  std::function<void()> run;
};

struct MemoryRuns {
  int warmup = 5, count = 30;
  bool json = false;
};

/// Runs the cases one after another and prints a line for each, or one JSON object.
inline void report_memory_cases(const std::vector<MemoryCase>& cases, const MemoryRuns& runs) {
  const double bandwidth = copy_bandwidth();
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  if (!runs.json) {
    fmt::print("{} threads, copying memory: {:.1f} GB/s\n", thread_count(), bandwidth);
  }
  for (const MemoryCase& c : cases) {
    const Times t = measure(runs.warmup, runs.count, c.run);
    const double rate = c.bytes / t.median * 1e-6;
    if (runs.json) {
      list.push_back({{"name", c.name},
                      {"median_ms", t.median},
                      {"min_ms", t.min},
                      {"max_ms", t.max},
                      {"bytes", c.bytes},
                      {"gb_s", rate},
                      {"share_of_copy_bandwidth", rate / bandwidth}});
    } else {
      fmt::print("{:44} {:9.3f} ms (min {:.3f}, max {:.3f}), {:6.1f} GB/s, {:3.0f} % of copying\n", c.name, t.median, t.min, t.max, rate,
                 100 * rate / bandwidth);
    }
  }
  if (runs.json) {
    const nlohmann::ordered_json object{{"threads", thread_count()}, {"copy_gb_s", bandwidth}, {"runs", runs.count}, {"cases", list}};
    fmt::print("{}\n", object.dump());
  }
}

}  // namespace dikkat::bench
