// race NAME has the race NAME, which ThreadSanitizer must report in spite of tests/tsan.supp. For "none" it does the same without a race,
// where ThreadSanitizer must not report anything that the library orders.
#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "autograd/base/parallel.h"
#include "train/data/samples/prefetcher.h"
#include "train/data/samples/samples.h"
#include "train/system/pipeline.h"

namespace dikkat {
namespace {

/// Waits until two threads have arrived. It is relaxed, so it orders nothing.
class Meeting {
 public:
  void arrive() {
    arrived_.fetch_add(1, std::memory_order_relaxed);
    for (int patience = 0; arrived_.load(std::memory_order_relaxed) < 2 && patience < 10'000'000; ++patience) {
      std::this_thread::yield();
    }
  }

 private:
  std::atomic<int> arrived_ = 0;
};

/// Counts for long enough that the sanitizer sees both threads doing it: it may miss accesses at the very same moment.
void count_in(int& sum) {
  for (int i = 0; i < 1000; ++i) {
    ++sum;
    std::this_thread::yield();
  }
}

/// Tiles of a kernel that add to one sum.
void race_of_tiles() {
  set_thread_count(2);
  Meeting meeting;
  int sum = 0;
  parallel_for(2, [&](index) {
    meeting.arrive();
    count_in(sum);
  });
}

/// Repeats the race ten times, because the sanitizer misses one in five.
void race_of_tasks() {
  int sum = 0;
  for (int i = 0; i < 10; ++i) {
    Meeting meeting;
    run_tasks(2, [&](index) {
      meeting.arrive();
      count_in(sum);
    });
  }
}

/// Two items of a pipeline, processed at once, add to one sum.
void race_of_pipeline() {
  Meeting meeting;
  int left = 2;
  int sum = 0;
  run_pipeline<int, int>([&] { return left > 0 ? std::optional<int>(left--) : std::nullopt; },
                         [&](int item) {
                           meeting.arrive();
                           count_in(sum);
                           return item;
                         },
                         [](int) {});
}

/// Samples that count how often they are asked for.
struct CountingSamples final : Samples {
  mutable std::vector<index> asked = std::vector<index>(1);
  index count() const override { return 1000; }
  RowLengths lengths(index) const override { return {.cols = 1}; }
  RowLengths longest() const override { return {.cols = 1}; }
  double target_weight(index) const override { return 1; }
  void fill(index, index, index, Batch&) const override { ++asked[0]; }
};

/// Data written by the task that fills the next batch is read while the task may be running.
void race_of_prefetcher() {
  const CountingSamples samples;
  const Loader loader(samples, 1);
  Prefetcher prefetcher(loader, 0, 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // on another thread, not on this one when it waits
  std::printf("%td\n", samples.asked[0]);
}

void no_race() {
  set_thread_count(2);
  std::vector<int> values(1000);
  parallel_for(1000, [&](index i) { values[static_cast<std::size_t>(i)] = 1; });
  run_tasks(1000, [&](index i) { ++values[static_cast<std::size_t>(i)]; });
  index next = 0;
  int taken = 0;
  run_pipeline<std::string, std::vector<int>>(
      [&]() -> std::optional<std::string> {
        return next < 1000 ? std::optional(std::to_string(values[static_cast<std::size_t>(next++)])) : std::nullopt;
      },
      [&](const std::string& item) { return std::vector<int>(100, std::stoi(item)); },
      [&](const std::vector<int>& item) { taken += item.back(); });
  const CountingSamples samples;
  {
    const Loader loader(samples, 1);
    Prefetcher prefetcher(loader, 0, 1);
    for (int i = 0; i < 100; ++i) {
      prefetcher.next();
    }
  }
  std::printf("%d %td\n", taken, samples.asked[0]);
}

}  // namespace
}  // namespace dikkat

int main(int argc, char** argv) {
  const std::string name = argc == 2 ? argv[1] : "";
  if (name == "tiles") {
    dikkat::race_of_tiles();
  } else if (name == "tasks") {
    dikkat::race_of_tasks();
  } else if (name == "pipeline") {
    dikkat::race_of_pipeline();
  } else if (name == "prefetcher") {
    dikkat::race_of_prefetcher();
  } else if (name == "none") {
    dikkat::no_race();
  } else {
    std::fprintf(stderr, "usage: race tiles|tasks|pipeline|prefetcher|none\n");
    return 2;
  }
  return 0;
}
