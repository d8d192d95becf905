// After the first steps, a training step allocates nothing. This program counts every call of operator new.

#include <atomic>
#include <cstdlib>
#include <new>

#include <gtest/gtest.h>

#include "tests/layers/tiny_encoder_decoder.h"
#include "tests/layers/training_step.h"

namespace {

std::atomic<std::int64_t> allocations{0};

void* counted(std::size_t bytes, std::size_t alignment) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  void* memory = std::aligned_alloc(alignment, (bytes + alignment) / alignment * alignment);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}

}  // namespace

// The other forms of new and delete call these.
void* operator new(std::size_t bytes) { return counted(bytes, __STDCPP_DEFAULT_NEW_ALIGNMENT__); }
void* operator new(std::size_t bytes, std::align_val_t alignment) { return counted(bytes, static_cast<std::size_t>(alignment)); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace dikkat {
namespace {

struct Requests {
  std::int64_t objects = allocations.load();
  std::int64_t pages = Pages::requests();
  bool operator==(const Requests&) const = default;
};

TEST(SteadyState, TheCounterSeesAllocations) {
  const Requests before;
  const std::vector<int> some(100);
  const Pages pages(4096, "test");
  const Requests after;
  EXPECT_GE(after.objects, before.objects + 1) << some.size();
  EXPECT_EQ(after.pages, before.pages + 1);
}

void expect_no_allocation(const TransformerConfig& config, const std::vector<int>& thread_counts) {
  for (const Recompute recompute : {Recompute::none, Recompute::cheap, Recompute::block}) {
    for (const int threads : thread_counts) {
      const WithThreads some(threads, Work{0});
      Training training(config);
      training.recompute = recompute;
      training.operands = threads == 2 ? DType::bf16 : DType::f32;
      training.step(1);
      training.step(2);
      training.tape.freeze();
      const Requests before;
      for (index step = 3; step <= 12; ++step) {
        training.step(step);
      }
      const Requests after;
      EXPECT_EQ(after.objects, before.objects) << threads;
      EXPECT_EQ(after.pages, before.pages) << threads;
    }
  }
}

TEST(SteadyState, AllocatesNothingFromTheThirdStepOn) { expect_no_allocation(kTrainingConfig, {1, 2, 3}); }
TEST(SteadyState, HoldsForALlama) { expect_no_allocation(kTrainingLlama, {1, 2}); }
TEST(SteadyState, HoldsForAGemma) { expect_no_allocation(kTrainingGemma, {1, 2}); }
TEST(SteadyState, HoldsForAnOlmo) { expect_no_allocation(kTrainingOlmo, {1, 2}); }
TEST(SteadyState, HoldsForANanochat) { expect_no_allocation(kTrainingNanochat, {1, 2}); }

TEST(SteadyState, HoldsForAnEncoderDecoder) {
  const WithThreads two(2, Work{0});
  TinyEncoderDecoder tiny(kTinyEncoderDecoder);
  AdamW adamw(tiny.store, {});
  Tape tape;
  const auto step = [&](index number) {
    Pass pass{.tape = tape, .training = true, .seed = 5, .step = static_cast<std::uint64_t>(number)};
    tape.backward(tiny.loss(pass));
    tape.reset();
    adamw.step(number, 1e-2, 1);
  };
  step(1);
  step(2);
  tape.freeze();
  const Requests before;
  for (index number = 3; number <= 12; ++number) {
    step(number);
  }
  EXPECT_EQ(before, Requests());
}

/// Lengths of sources and targets change from step to step, in multiples of 8, as with configs/transformer-base.toml.
TEST(SteadyState, HoldsForLengthsThatChange) {
  constexpr index kLongest = 64, kRows = 1;
  const TransformerConfig config{.kind = ModelKind::encoder_decoder,
                                 .n_layer = 2,
                                 .n_head = 2,
                                 .n_embd = 32,
                                 .block_size = kLongest,
                                 .vocab_size = 23,
                                 .dropout = 0.1};
  ParameterStore store;
  const EncoderDecoder model(Scope(store), config);
  store.allocate(1);
  Tape tape;
  const std::vector<std::int32_t> longest_tokens = some_tokens(kRows * kLongest, 23);
  const auto step = [&](index source, index target) {
    Pass pass{.tape = tape, .training = true, .seed = 5};
    const auto tokens = [&](index length) {
      return tape.input<std::int32_t>({kRows, length}, std::span(longest_tokens).first(static_cast<std::size_t>(kRows * length)));
    };
    const Tensor features = model.features(pass, tokens(target), model.encode(pass, tokens(source)));
    tape.backward(cross_entropy(model.logits(pass, features), tokens(target)));
    tape.reset();
    store.clear_gradients();
  };
  // After two of the longest steps, shorter ones need no memory.
  step(kLongest, kLongest);
  step(kLongest, kLongest);
  tape.freeze();
  const std::size_t longest = tape.gradient_bytes();
  const RandomStream random(1, "lengths", 0);
  for (index i = 0; i < 16; ++i) {
    const Requests before;
    step(8 * (1 + random.word(2 * i) % 8), 8 * (1 + random.word(2 * i + 1) % 8));
    const Requests after;
    EXPECT_EQ(after.objects - before.objects, 0) << i;
    EXPECT_EQ(after.pages - before.pages, 0) << i;
    EXPECT_EQ(tape.gradient_bytes(), longest) << i;
  }
}

TEST(SteadyState, HoldsForEvaluationToo) {
  const WithThreads one(1);
  const TinyGpt model(kTrainingConfig);
  Tape tape(Recording::off);
  const std::vector<std::int32_t> tokens = some_tokens(80, kTrainingConfig.vocab_size);
  const auto evaluate = [&] {
    Pass pass{.tape = tape};
    model.gpt(pass, tape.input<std::int32_t>({1, 80}, tokens));
    tape.reset();
  };
  evaluate();
  evaluate();
  const Requests before;
  evaluate();
  EXPECT_EQ(before, Requests());
}

TEST(SteadyState, HoldsForSamplingFromACache) {
  for (const TransformerConfig& config : {kTrainingConfig, kTrainingLlama, kTrainingGemma, kTrainingOlmo, kTrainingNanochat}) {
    for (const int threads : {1, 2}) {
      const WithThreads some(threads, Work{0});
      const TinyGpt model(config);
      KeyValueCache cache = model.gpt.cache(2);
      CachedSequences sequences(cache, 2);
      Tape tape(Recording::off);
      const std::vector<std::int32_t> tokens = some_tokens(2, config.vocab_size);
      const auto fill_the_context = [&] {
        cache.clear();
        while (cache.length() < cache.max_positions()) {
          Pass pass{.tape = tape};
          model.gpt.logits(pass, model.gpt.features(pass, tape.input<std::int32_t>({2, 1}, tokens), sequences));
          tape.reset();
        }
      };
      fill_the_context();
      const Requests before;
      fill_the_context();
      EXPECT_EQ(before, Requests()) << threads;
    }
  }
}

}  // namespace
}  // namespace dikkat
