#include "autograd/base/simulated_threads.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include "autograd/base/tile_loop.h"

namespace dikkat {
namespace {

thread_local SimulatedThreads* current = nullptr;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

double LoopTimes::sum() const { return std::accumulate(seconds.begin(), seconds.end(), 0.0); }

double LoopTimes::longest(int threads) const {
  std::vector<double> busy(static_cast<std::size_t>(threads), 0.0);
  const std::size_t share = seconds.size() / busy.size();
  const std::size_t longer = seconds.size() % busy.size();  // threads that get one tile more
  for (std::size_t tile = 0, thread = 0, left = 0; tile < seconds.size(); ++tile) {
    if (!even) {
      *std::min_element(busy.begin(), busy.end()) += seconds[tile];
      continue;
    }
    if (left == 0) {
      left = share + (thread++ < longer ? 1 : 0);
    }
    busy[thread - 1] += seconds[tile];
    --left;
  }
  return *std::max_element(busy.begin(), busy.end());
}

SimulatedThreads::SimulatedThreads(int threads) : threads_(threads) { current = this; }

SimulatedThreads::~SimulatedThreads() { current = nullptr; }

bool SimulatedThreads::active() noexcept { return current != nullptr; }

void SimulatedThreads::run(detail::TileLoop& loop, index tiles, bool even) {
  SimulatedThreads* const self = std::exchange(current, nullptr);  // loops within tiles run on the tile's thread
  LoopTimes& times = self->loops_.emplace_back();
  times.even = even;
  times.seconds.reserve(static_cast<std::size_t>(tiles));
  {
    const WithThreads one(1);
    const FlushDenormals flushed;
    loop.begin_thread();
    for (index tile = 0; tile < tiles; ++tile) {
      const double start = now();
      loop.run(tile);
      times.seconds.push_back(now() - start);
    }
  }
  current = self;
  loop.finish();
}

}  // namespace dikkat
