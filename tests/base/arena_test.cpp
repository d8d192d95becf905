#include "autograd/base/arena.h"

#include <cstdint>
#include <cstring>

#include <gtest/gtest.h>

#include "autograd/base/buffer_pool.h"
#include "autograd/base/error.h"
#include "tests/support/throws.h"

namespace dikkat {
namespace {

using testing::error_of;
using testing::names;

TEST(Arena, MemoryIsAlignedAndApart) {
  Arena arena("test");
  std::byte* before = nullptr;
  std::size_t before_bytes = 0;
  for (const std::size_t bytes : std::initializer_list<std::size_t>{1, 63, 64, 65, 1000, 3, 1 << 21, 7}) {
    auto* at = static_cast<std::byte*>(arena.allocate(bytes, "op"));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(at) % Arena::kAlignment, 0U);
    EXPECT_TRUE(before == nullptr || at + bytes <= before || at >= before + before_bytes) << bytes;
    std::memset(at, 0xab, bytes);
    before = at;
    before_bytes = bytes;
  }
  auto* close = static_cast<std::byte*>(arena.allocate(8, "op", 8));
  EXPECT_EQ(static_cast<std::byte*>(arena.allocate(8, "op", 8)), close + 8) << "another alignment";
}

TEST(Arena, ResetJoinsChunksAndThenAsksTheSystemNoMore) {
  Arena arena("test");
  const auto step = [&] {
    for (int i = 0; i < 100; ++i) {
      arena.allocate(static_cast<std::size_t>(i) * 3001 + 1, "op");
    }
  };
  step();
  EXPECT_GT(arena.used(), 100U * 99 / 2 * 3001);
  EXPECT_EQ(arena.peak(), arena.used());
  arena.reset();
  EXPECT_EQ(arena.used(), 0U);
  const auto requests = Pages::requests();
  const auto capacity = arena.capacity();
  for (int i = 0; i < 5; ++i) {
    step();
    arena.reset();
  }
  EXPECT_EQ(Pages::requests(), requests);
  EXPECT_EQ(arena.capacity(), capacity);
}

TEST(Arena, FrozenItNamesTheOpAndTheBytes) {
  Arena arena("activation");
  arena.allocate(3 << 20, "linear");
  arena.reset();
  arena.freeze();
  EXPECT_TRUE(arena.frozen());
  arena.allocate(3 << 20, "linear");
  const std::string error = error_of([&] { arena.allocate(12345678, "attention"); });
  EXPECT_TRUE(names(error, {"attention", "12345678", "activation arena", "frozen"}));
  arena.reset();
  EXPECT_EQ(error_of([&] { arena.allocate(3 << 20, "linear"); }), "") << "a step of the old size still fits";
}

// Chunks of the first step may end anywhere. Frozen after it, the same step must fit into the one chunk that replaces them.
TEST(Arena, TheStepThatWasSeenAlwaysFits) {
  for (std::size_t odd = 1; odd < 200; odd += 7) {
    Arena arena("test");
    const auto step = [&] {
      for (std::size_t i = 0; i < 400; ++i) {
        arena.allocate(odd * 97 + i % 13, "op", i % 3 == 0 ? 8 : 64);
      }
    };
    step();
    arena.reset();
    arena.freeze();
    EXPECT_EQ(error_of([&] { step(); }), "") << odd;
  }
}

TEST(Arena, MoreThanThereIsThrows) {
  Arena arena("test");
  EXPECT_TRUE(names(error_of([&] { arena.allocate(std::size_t{1} << 62, "embedding"); }), {"embedding"}));
  EXPECT_TRUE(names(error_of([&] { arena.allocate(std::size_t{1} << 55, "embedding"); }), {"embedding", "no memory"}));
  EXPECT_EQ(error_of([&] { arena.allocate(100, "embedding"); }), "") << "and does not change the arena";
}

TEST(BufferPool, BuffersComeBack) {
  BufferPool pool;
  Buffer* first = pool.acquire(1000, "gradient");
  Buffer* second = pool.acquire(1000, "gradient");
  EXPECT_NE(first->data, second->data);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(second->data) % 64, 0U);
  pool.release(first);
  EXPECT_EQ(pool.acquire(1001, "gradient")->data, first->data) << "of the same size once rounded up to 64 bytes";
  EXPECT_NE(pool.acquire(3000, "gradient")->data, first->data);
}

TEST(BufferPool, TheSmallestThatIsLargeEnoughIsTaken) {
  BufferPool pool;
  Buffer* large = pool.acquire(5000, "gradient");
  Buffer* small = pool.acquire(2000, "gradient");
  Buffer* middle = pool.acquire(3000, "gradient");
  for (Buffer* buffer : {large, small, middle}) {
    pool.release(buffer);
  }
  EXPECT_EQ(pool.acquire(2500, "gradient"), middle);
  EXPECT_EQ(pool.acquire(100, "gradient"), small);
  EXPECT_EQ(pool.acquire(100, "gradient"), large);
  const std::size_t before = pool.capacity();
  EXPECT_NE(pool.acquire(100, "gradient"), nullptr);
  EXPECT_EQ(pool.capacity(), before + 128) << "none was free";
}

TEST(BufferPool, RequestsOfManySizesNeedNoMoreThanAreOpenAtOnce) {
  for (const std::size_t unit : {std::size_t{64}, std::size_t{4096}}) {  // of small and of large buffers
    BufferPool pool;
    Buffer* open[5] = {};
    for (std::size_t i = 0; i < 5000; ++i) {
      Buffer*& place = open[i * i % 5];
      if (place != nullptr) {
        pool.release(place);
      }
      place = pool.acquire(unit * (1 + i * 7919 % 1000), "gradient");
    }
    EXPECT_LE(pool.capacity(), unit == 64 ? 5U * 2 * 65536 : 5U * (4096 * 1000 + (1 << 20)));
  }
}

TEST(BufferPool, ReservesTheBuffersOfAnotherPool) {
  BufferPool like, pool;
  Buffer* all[] = {like.acquire(100, "gradient"), like.acquire(1 << 20, "gradient"), like.acquire(3 << 20, "gradient")};
  pool.reserve(like);
  const auto requests = Pages::requests();
  for (Buffer* buffer : all) {
    EXPECT_GE(pool.acquire(buffer->bytes, "gradient")->bytes, buffer->bytes);
  }
  EXPECT_EQ(Pages::requests(), requests);
  EXPECT_EQ(pool.capacity(), like.capacity());
}

TEST(BufferPool, ASharedBufferComesBackAfterItsLastUser) {
  BufferPool pool;
  Buffer* buffer = pool.acquire(64, "gradient");
  pool.share(buffer);
  pool.release(buffer);
  EXPECT_EQ(buffer->users, 1);
  EXPECT_NE(pool.acquire(64, "gradient"), buffer);
  pool.release(buffer);
  EXPECT_EQ(pool.acquire(64, "gradient"), buffer);
}

TEST(BufferPool, ReleasedTooOftenThrows) {
  BufferPool pool;
  Buffer* buffer = pool.acquire(64, "gradient");
  pool.release(buffer);
  EXPECT_NE(error_of([&] { pool.release(buffer); }), "");
}

TEST(BufferPool, ASteadyStateAsksTheSystemNoMore) {
  BufferPool pool;
  const auto step = [&] {
    Buffer* all[40];
    for (std::size_t i = 0; i < 40; ++i) {
      all[i] = pool.acquire((i % 7 + 1) * 100000 * (i % 2 + 1), "gradient");
    }
    for (Buffer* buffer : all) {
      pool.release(buffer);
    }
  };
  step();
  const auto requests = Pages::requests();
  const auto capacity = pool.capacity();
  step();
  step();
  EXPECT_EQ(Pages::requests(), requests);
  EXPECT_EQ(pool.capacity(), capacity);
}

TEST(BufferPool, MoreThanThereIsThrows) {
  BufferPool pool;
  EXPECT_TRUE(names(error_of([&] { pool.acquire(std::size_t{1} << 55, "gradient"); }), {"gradient", "no memory"}));
}

TEST(Pages, AreZeroAndAligned) {
  const Pages small(4096, "test");
  const Pages large(5 << 20, "test");
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(small.data()) % 64, 0U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(large.data()) % (2 << 20), 0U);
  for (std::size_t i = 0; i < large.size(); i += 4096) {
    ASSERT_EQ(large.data()[i], std::byte{0});
  }
  EXPECT_EQ(Pages(0, "nothing").data(), nullptr);
}

}  // namespace
}  // namespace dikkat
