#include <atomic>
#include <cstdlib>
#include <new>
#include <optional>

#include <gtest/gtest.h>

#include "autograd/base/parallel.h"
#include "autograd/base/scratch.h"
#include "autograd/ops/attention.h"
#include "autograd/ops/basic.h"
#include "autograd/ops/embedding.h"
#include "autograd/ops/layer_norm.h"
#include "autograd/ops/linear.h"
#include "autograd/ops/loss.h"
#include "autograd/tape/parameters.h"
#include "autograd/tape/tape.h"
#include "tests/support/numbers.h"

// This program counts every allocation.
namespace {
std::atomic<std::int64_t> allocations{0};

void* counted(std::size_t bytes, std::size_t alignment) {
  ++allocations;
  void* memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr && bytes > 0) {
    throw std::bad_alloc();
  }
  return memory;
}
}  // namespace

void* operator new(std::size_t bytes) { return counted(bytes, alignof(std::max_align_t)); }
void* operator new[](std::size_t bytes) { return counted(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) { return counted(bytes, static_cast<std::size_t>(alignment)); }
void* operator new[](std::size_t bytes, std::align_val_t alignment) { return counted(bytes, static_cast<std::size_t>(alignment)); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace dikkat {
namespace {

constexpr index kBatch = 4, kTime = 70, kWidth = 48, kVocabulary = 60;

/// A transformer block with every option: residuals, dropout, a loss.
struct Model {
  ParameterStore store;
  Parameter wte, wpe, norm, norm_bias, qkv, qkv_bias, up, up_bias, down;
  std::vector<std::int32_t> tokens, targets;
  std::vector<float> weights;

  Model() {
    const auto add = [&](const char* path, Shape shape) { return store.add(path, shape, Init::normal(0.1), Decay::yes, Role::hidden); };
    wte = add("wte", {kVocabulary, kWidth});
    wpe = add("wpe", {kTime, kWidth});
    norm = add("norm", {kWidth});
    norm_bias = add("norm_bias", {kWidth});
    qkv = add("qkv", {3 * kWidth, kWidth});
    qkv_bias = add("qkv_bias", {3 * kWidth});
    up = add("up", {4 * kWidth, kWidth});
    up_bias = add("up_bias", {4 * kWidth});
    down = add("down", {kWidth, 4 * kWidth});
    store.allocate(1);
    for (index i = 0; i < kBatch * kTime; ++i) {
      tokens.push_back(static_cast<std::int32_t>(i * i % kVocabulary));
      targets.push_back(static_cast<std::int32_t>(i * 7 % kVocabulary));
      weights.push_back(i % 5 == 0 ? 0.0F : 1.0F);
    }
  }

  float step(Tape& tape, std::uint64_t step) {
    const RandomStream stream(1, "dropout", step);
    Tensor x = embedding(tape.input<std::int32_t>({kBatch, kTime}, tokens), wte, {.positions = wpe});
    const Tensor packed = linear(layer_norm(x, norm, norm_bias), qkv, qkv_bias);
    x = dikkat::add(x, self_attention(packed, {.heads = 3, .head_size = 16, .causal = true, .dropout = 0.1, .stream = stream}));
    const Tensor hidden = gelu(linear(layer_norm(x, norm), up, up_bias));
    x = dikkat::add(x, dropout(linear(hidden, down), 0.1, stream));
    const Tensor loss = cross_entropy(linear(x, wte), tape.input<std::int32_t>({kBatch * kTime}, targets),
                                      {.weights = tape.input<float>({kBatch * kTime}, weights)});
    const float value = *loss.data<float>();
    tape.backward(loss);
    tape.reset();
    store.complete_gradients();
    store.clear_gradients();
    return value;
  }
};

struct Asked {
  std::int64_t allocations, pages;
  float loss;
};

/// The requests of `steps` steps, after two earlier steps, when the chunks of the first one have become one.
Asked asked_in(std::uint64_t steps) {
  Model model;
  Tape tape;
  model.step(tape, 0);
  model.step(tape, 1);
  tape.freeze();
  const auto allocations_before = allocations.load();
  const auto pages_before = Pages::requests();
  float loss = 0;
  for (std::uint64_t step = 2; step < 2 + steps; ++step) {
    loss = model.step(tape, step);
  }
  return {allocations.load() - allocations_before, Pages::requests() - pages_before, loss};
}

TEST(SteadyState, OnOneThreadNothingIsAskedFor) {
  const WithThreads one(1);
  const Asked asked = asked_in(10);
  EXPECT_EQ(asked.allocations, 0);
  EXPECT_EQ(asked.pages, 0);
  EXPECT_GT(asked.loss, 1) << "near log " << kVocabulary;
}

// This holds also for a thread that happens to get its first tile of attention late: it asked for its memory in the first step.
TEST(SteadyState, OnSeveralThreadsNothingIsAskedForEither) {
  for (const int threads : {2, 3}) {
    const WithThreads some(threads, Work{0});
    const Asked asked = asked_in(20);
    EXPECT_EQ(asked.allocations, 0) << threads;
    EXPECT_EQ(asked.pages, 0) << threads;
  }
}

TEST(SteadyState, AllocationsAreCounted) {
  const auto before = allocations.load();
  const std::vector<int> some(100);
  EXPECT_EQ(allocations.load(), before + 1);
}

}  // namespace
}  // namespace dikkat
