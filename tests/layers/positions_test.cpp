#include "layers/positions.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace dikkat {
namespace {

std::vector<float> rows_of(const SinusoidalPositions& waves, index first, index time) {
  Tape tape(Recording::off);
  Pass pass{.tape = tape};
  const Tensor rows = waves(pass, first, time, DType::f32);
  return {rows.data<float>(), rows.data<float>() + rows.size()};
}

/// A model is shared by the threads of a server, say. A table that grew with the longest sequence so far moved under its readers.
TEST(SinusoidalPositions, MayBeReadByThreadsAtOnce) {
  constexpr index kPlaces = 512, kWidth = 32;
  const std::vector<float> expected = rows_of(SinusoidalPositions(kPlaces, kWidth), 0, kPlaces);
  const SinusoidalPositions shared(kPlaces, kWidth);
  std::vector<std::vector<float>> found(4);
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < found.size(); ++thread) {
    threads.emplace_back([&, thread] {
      for (index time = 1; time <= kPlaces; time *= 2) {
        found[thread] = rows_of(shared, 0, time);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const std::vector<float>& rows : found) {
    EXPECT_EQ(rows, expected);
  }
}

}  // namespace
}  // namespace dikkat
