#include "train/parallel/gradient_exchange.h"

#include <gtest/gtest.h>

#include "optim/adamw.h"
#include "tests/layers/training_step.h"
#include "tests/support/compare.h"
#include "tests/support/thread_transport.h"
#include "tests/support/throws.h"
#include "train/parallel/data_parallel_step.h"

namespace dikkat {
namespace {

using testing::kDelays;
using testing::kPatient;
using testing::on_ranks;
using testing::same_bits;

constexpr index kSmallBucket = 1 << 14;

/// A pass of a tiny model, on sequence i.
struct Tiny {
  TinyGpt model{kTrainingConfig};
  AdamW adamw{model.store, {}};
  Tape tape;
  Recompute recompute;

  explicit Tiny(Recompute recomputed = Recompute::none) : recompute(recomputed) {}

  void backward(index i) {
    const index time = kTrainingConfig.block_size;
    const auto tokens = some_tokens(time, kTrainingConfig.vocab_size, static_cast<std::uint64_t>(2 * i));
    const auto targets = some_tokens(time, kTrainingConfig.vocab_size, static_cast<std::uint64_t>(2 * i + 1));
    Pass pass{.tape = tape, .training = true, .seed = 5, .first_sequence = i, .recompute = recompute};
    const Tensor logits = model.gpt(pass, tape.input<std::int32_t>({1, time}, tokens));
    tape.backward(cross_entropy(logits, tape.input<std::int32_t>({1, time}, targets)));
    tape.reset();
  }
};

/// The weights after two steps of 16 passes in 8 lanes, which ranks share.
std::vector<float> trained(Ranks& ranks, Recompute recompute) {
  Tiny tiny(recompute);
  DataParallelStep share(tiny.model.store, tiny.adamw, ranks, 8, tiny.tape, kSmallBucket);
  share.reserve();
  tiny.adamw.reserve();
  for (index step = 1; step <= 2; ++step) {
    for (index i = 0; i < share.count(16); ++i) {
      share.begin_pass(i, 16);
      tiny.backward(16 * step + share.first(16) + i);
      share.end_pass(i, 16);
    }
    EXPECT_TRUE(share.update({.step = step, .learning_rate = 0.01, .gradient_scale = 1 / share.gradient_norm()}));
    const GradientExchange::Seconds took = share.take_exchange_seconds();
    EXPECT_EQ(took.exchanging > 0, ranks.size() > 1);
  }
  const auto* first = tiny.model.store.weights<float>();
  return {first, first + tiny.model.store.slab_size()};
}

TEST(GradientExchange, BesideTheBackwardPassGivesTheBitsOfOneProcess) {
  const WithThreads one(1);
  Ranks alone;
  for (const Recompute recompute : {Recompute::none, Recompute::block}) {
    const std::vector<float> expected = trained(alone, recompute);
    for (const int size : {2, 4, 8}) {
      on_ranks(
          size,
          [&](std::unique_ptr<Transport> transport) {
            Ranks ranks(std::move(transport), kPatient);
            EXPECT_TRUE(same_bits(trained(ranks, recompute), expected)) << size;
          },
          kDelays);
    }
  }
}

TEST(GradientExchange, BeginsWithTheLastLayersBeforeTheFirstAreComputed) {
  const WithThreads one(1);
  on_ranks(2, [](std::unique_ptr<Transport> transport) {
    Ranks ranks(std::move(transport), kPatient);
    Tiny tiny;
    const Ownership ownership(tiny.model.store, tiny.adamw, 2);
    std::vector<index> begun;
    GradientExchange exchange(
        tiny.model.store, ranks, ownership.weights(), [&](index begin, index) { begun.push_back(begin); }, kSmallBucket);
    exchange.begin();
    tiny.tape.watch_gradients(&exchange);
    tiny.backward(ranks.rank());
    tiny.tape.watch_gradients(nullptr);
    EXPECT_EQ(begun.size(), 2U) << "all of them, before finish()";
    EXPECT_LT(begun.front(), tiny.model.store.entry("wte.weight").offset) << "the table is complete last";
    const std::size_t before = begun.size();
    exchange.finish();
    EXPECT_EQ(begun.size(), before) << "nothing is left";
  });
}

TEST(GradientExchange, EndsIfARankIsSilent) {
  const WithThreads one(1);
  const std::string text = testing::error_of([] {
    on_ranks(2, [](std::unique_ptr<Transport> transport) {
      std::vector<std::string> said;
      Ranks ranks(std::move(transport), kPatient, [&](const std::string& sentence) { said.push_back(sentence); });
      ranks.set_timeout(0.2);
      if (ranks.rank() == 1) {
        return;  // without taking part
      }
      Tiny tiny;
      const Ownership ownership(tiny.model.store, tiny.adamw, 2);
      GradientExchange exchange(tiny.model.store, ranks, ownership.weights(), [](index, index) {}, kSmallBucket);
      exchange.begin();
      tiny.tape.watch_gradients(&exchange);
      tiny.backward(0);
      try {
        exchange.finish();
      } catch (const RankTimeout&) {
        EXPECT_EQ(said.size(), 1U);
        EXPECT_TRUE(testing::names(said.empty() ? "" : said.front(), {"rank 1 on host-1", "0.1 seconds", "0.2", "train.rank_timeout"}));
        throw;
      }
    });
  });
  EXPECT_TRUE(testing::names(text, {"rank 1 on host-1", "0.2 seconds", "train.rank_timeout"}));
}

TEST(GradientExchange, IsCanceledWithoutWaiting) {
  const WithThreads one(1);
  on_ranks(2, [](std::unique_ptr<Transport> transport) {
    Ranks ranks(std::move(transport), kPatient);
    if (ranks.rank() == 1) {
      return;
    }
    Tiny tiny;
    const Ownership ownership(tiny.model.store, tiny.adamw, 2);
    const auto start = std::chrono::steady_clock::now();
    {
      GradientExchange exchange(tiny.model.store, ranks, ownership.weights(), [](index, index) {}, kSmallBucket);
      exchange.begin();
      tiny.tape.watch_gradients(&exchange);
      tiny.backward(0);  // then, for example, an error
    }
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
  });
}

}  // namespace
}  // namespace dikkat
