#include "train/parallel/ranks.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/parallel.h"
#include "optim/muon.h"
#include "tests/support/compare.h"
#include "tests/support/numbers.h"
#include "tests/support/thread_transport.h"
#include "tests/support/throws.h"
#include "train/parallel/lane_sum.h"

namespace dikkat {
namespace {

using testing::kDelays;
using testing::kPatient;
using testing::numbers;
using testing::on_ranks;
using testing::same_bits;

/// Adds matrices, one of which has several parts, and vectors, over some blocks.
void add_parameters(ParameterStore& store) {
  store.add("a.bias", {1001}, Init::zeros(), Decay::no, Role::vector);
  store.add("a.weight", {90, 100}, Init::normal(1), Decay::yes, Role::hidden, {30, 30, 30});
  store.add("b.bias", {3}, Init::zeros(), Decay::no, Role::vector);
  store.add("b.weight", {200, 100}, Init::normal(1), Decay::yes, Role::hidden);
  store.add("c.weight", {17, 33}, Init::normal(1), Decay::yes, Role::hidden);
  store.add("wte.weight", {1000, 50}, Init::normal(1), Decay::yes, Role::embedding);
  store.lay_out();
}

template <class O>
struct Trained {
  ParameterStore store;
  std::unique_ptr<O> optimizer;

  explicit Trained(const typename O::Options& options) {
    add_parameters(store);
    optimizer = std::make_unique<O>(store, options);
  }
};
Muon::Options normuon() {
  Muon::Options options;
  options.beta2 = 0.9;
  return options;
}

/// How often each element is covered.
std::vector<int> covered(const std::vector<OwnedRange>& parts, index size) {
  std::vector<int> count(static_cast<std::size_t>(size));
  for (const OwnedRange& part : parts) {
    for (index i = part.begin; i < part.end; ++i) {
      ++count[static_cast<std::size_t>(i)];
    }
  }
  return count;
}

template <class O>
void expect_each_once(const typename O::Options& options) {
  Trained<O> t(options);
  const Ownership alone(t.store, *t.optimizer, 1);
  // Find the elements of all units.
  std::vector<OwnedRange> units;
  for (const Unit& unit : t.optimizer->units()) {
    units.push_back({unit.begin, unit.end});
  }
  const auto expected = covered(units, t.store.trainable_size());
  // For each number of ranks, every element has one owner.
  for (const int ranks : {1, 2, 4, 8}) {
    SCOPED_TRACE(ranks);
    const Ownership ownership(t.store, *t.optimizer, ranks);
    EXPECT_EQ(covered(ownership.parts(), t.store.trainable_size()), expected);
    EXPECT_EQ(covered(ownership.weights(), t.store.trainable_size()), expected);
    ASSERT_EQ(ownership.parts().size(), alone.parts().size()) << "parts, and so the bits of the norm, do not depend on the number of ranks";
    std::vector<OwnedRange> own;
    for (int rank = 0; rank < ranks; ++rank) {
      index size = 0;
      for (const Unit& unit : ownership.units_of(rank)) {
        own.push_back({unit.begin, unit.end, rank});
        size += unit.end - unit.begin;
        EXPECT_TRUE(unit.whole || (unit.begin % Unit::kCut == 0 && unit.end % Unit::kCut == 0));
      }
      EXPECT_TRUE(ranks > 4 || size > 0) << rank;
    }
    EXPECT_EQ(covered(own, t.store.trainable_size()), expected);
    for (const StateSlab* slab : t.optimizer->state()) {
      std::vector<OwnedRange> parts;
      for (const StateSlab::Part& part : slab->parts) {
        parts.push_back({part.offset, part.offset + part.shape.size()});
      }
      EXPECT_EQ(covered(ownership.state(*slab), slab->size), covered(parts, slab->size)) << slab->name;
    }
  }
}

TEST(Ownership, GivesEachElementToOneRank) {
  expect_each_once<AdamW>({});
  expect_each_once<Muon>(normuon());
}

TEST(Ownership, SharesElementsEvenlyAndMatricesByTheirCost) {
  ParameterStore store;
  store.add("wte.weight", {64 << 14, 16}, Init::zeros(), Decay::yes, Role::embedding);
  for (const char* name : {"h.0", "h.1", "h.2", "h.3"}) {
    store.add(name, {64, 64}, Init::zeros(), Decay::yes, Role::hidden);
  }
  store.lay_out();
  Muon muon(store, Muon::Options{});
  const Ownership ownership(store, muon, 4);
  for (int rank = 0; rank < 4; ++rank) {
    index cut = 0, matrices = 0;
    for (const Unit& unit : ownership.units_of(rank)) {
      cut += unit.whole ? 0 : unit.end - unit.begin;
      matrices += unit.whole ? 1 : 0;
    }
    EXPECT_EQ(matrices, 1);
    EXPECT_NEAR(static_cast<double>(cut), (64 << 14) * 16 / 4.0, 2.0 * (1 << 14));
  }
}

/// Sums a rank's gradients of its lanes, which are some of the 8 lanes.
void sum_lanes(ParameterStore& store, int rank, int ranks) {
  const index lanes = 8 / ranks;
  LaneSum sum(store, lanes);
  sum.reserve();
  for (index lane = 0; lane < lanes; ++lane) {
    sum.begin(lane);
    for (ParameterStore::Entry* entry : store.trainable()) {
      const auto values = numbers(entry->size(), static_cast<std::uint64_t>(1 + entry->offset + rank * lanes + lane));
      std::copy(values.begin(), values.end(), static_cast<float*>(entry->gradient.data));
      entry->gradient.written = true;
    }
    sum.end(lane);
  }
  store.complete_gradients();
}

/// A step of an optimizer that `ranks` share, with gradients in 8 lanes. Returns the weights, the state and the norm of the first.
template <class O>
std::vector<float> shared_step(const typename O::Options& options, int ranks) {
  std::vector<float> result;
  on_ranks(
      ranks,
      [&](std::unique_ptr<Transport> transport) {
        Ranks all(std::move(transport), kPatient);
        Trained<O> t(options);
        t.store.allocate(5);
        t.optimizer->reserve();
        const Ownership ownership(t.store, *t.optimizer, ranks);
        // Each step sums the gradients, shares the norm and updates its own units.
        for (index step = 1; step <= 2; ++step) {
          sum_lanes(t.store, all.rank(), ranks);
          Ranks::Sum sum;
          all.begin_sum(sum, ownership.weights(), t.store.template gradients<float>());
          all.end_sum(sum);
          std::vector<double> squares(ownership.parts().size());
          std::vector<OwnedRange> parts = ownership.parts();
          for (std::size_t i = 0; i < parts.size(); ++i) {
            squares[i] = parts[i].owner == all.rank() ? sum_of_squares(t.store, parts[i]) : 0;
            parts[i] = {static_cast<index>(i), static_cast<index>(i + 1), parts[i].owner};
          }
          all.share<double>(parts, squares.data());
          const double scale = 1 / norm_of(squares);
          t.optimizer->update({.step = step, .learning_rate = 0.01, .gradient_scale = scale}, ownership.units_of(all.rank()));
          t.store.clear_gradients();
          all.share<float>(ownership.weights(), t.store.template weights<float>());
        }
        // Collect the state and return the results of the first rank.
        for (StateSlab* slab : t.optimizer->state()) {
          all.gather<float>(ownership.state(*slab), slab->data<float>());
        }
        if (all.is_first()) {
          result.assign(t.store.template weights<float>(), t.store.template weights<float>() + t.store.slab_size());
          for (StateSlab* slab : t.optimizer->state()) {
            result.insert(result.end(), slab->data<float>(), slab->data<float>() + slab->size);
          }
        }
      },
      kDelays);
  return result;
}

TEST(Ranks, ShareAStepToTheBitsOfOneProcess) {
  const WithThreads with(1, Work{0});
  const auto of_adamw = shared_step<AdamW>({}, 1), of_muon = shared_step<Muon>(normuon(), 1);
  EXPECT_FALSE(same_bits(of_adamw, of_muon));
  for (const int ranks : {2, 4, 8}) {
    EXPECT_TRUE(same_bits(shared_step<AdamW>({}, ranks), of_adamw)) << ranks;
    EXPECT_TRUE(same_bits(shared_step<Muon>(normuon(), ranks), of_muon)) << ranks;
  }
}

TEST(Ranks, AllGetTheMessageOfOne) {
  on_ranks(
      4,
      [](std::unique_ptr<Transport> transport) {
        Ranks all(std::move(transport), kPatient);
        EXPECT_EQ(all.from_first(concat("said by ", all.rank())), "said by 0");
        EXPECT_EQ(all.from_first(""), "");
        EXPECT_TRUE(all.any(all.rank() == 2));
        EXPECT_FALSE(all.any(false));
        EXPECT_EQ(all.largest(all.rank() == 1 ? 10 : 0), 10);
        EXPECT_EQ(all.name_of(3), "rank 3 on host-3");
      },
      kDelays);
  Ranks alone;
  EXPECT_EQ(alone.from_first("a"), "a");
  EXPECT_TRUE(alone.any(true));
  EXPECT_TRUE(alone.is_first());
}

TEST(Ranks, NameTheOneThatHasSomethingElse) {
  const auto of_corpora = [](const std::function<std::string(int)>& corpus_of) {
    return testing::error_of([&] {
      on_ranks(4, [&](std::unique_ptr<Transport> transport) {
        Ranks all(std::move(transport), kPatient);
        const int rank = all.rank();
        try {
          all.require_same("corpus", [&] { return corpus_of(rank); });
        } catch (const ExitQuietly&) {
          EXPECT_NE(rank, 0);
        }
      });
    });
  };
  EXPECT_EQ(of_corpora([](int) { return "abc"; }), "");
  EXPECT_TRUE(testing::names(of_corpora([](int rank) { return rank == 2 ? "abd" : "abc"; }),
                             {"rank 2 on host-2", "corpus", "rank 0 on host-0", "abd", "abc"}));
}

TEST(Ranks, EndTogether) {
  const std::string text = testing::error_of([] {
    on_ranks(2, [](std::unique_ptr<Transport> transport) {
      Ranks all(std::move(transport), kPatient);
      try {
        all.run_on_all([&] { require(all.rank() == 0, "no memory"); });
      } catch (const ExitQuietly&) {
        EXPECT_EQ(all.rank(), 1);
      }
    });
  });
  EXPECT_TRUE(testing::names(text, {"rank 1 on host-1", "no memory"}));
}

// The first rank works in `steps` steps, and asks before each whether to stop. Rank 1 wants to stop when it is asked for the time `at`.
int steps_done_on_first(int steps, int at, bool& completed) {
  std::atomic<int> done = 0;
  std::array<bool, 4> results{};
  on_ranks(
      4,
      [&](std::unique_ptr<Transport> transport) {
        Ranks all(std::move(transport), kPatient);
        int asked = 0;
        const auto stop = [&] { return ++asked == at && all.rank() == 1; };
        const auto work = [&](const std::function<bool()>& any_stops) {
          EXPECT_TRUE(all.is_first());
          while (done < steps) {
            if (any_stops()) {
              return false;
            }
            ++done;
          }
          return true;
        };
        results[static_cast<std::size_t>(all.rank())] = all.on_first(work, stop);
        EXPECT_EQ(all.largest(all.rank()), 3) << "the ranks are still in step";
      },
      kDelays);
  completed = results[0];
  EXPECT_EQ(results, (std::array{completed, completed, completed, completed}));
  return done;
}

TEST(Ranks, WorkOnTheFirstStopsForAnyRank) {
  bool completed = false;
  EXPECT_EQ(steps_done_on_first(5, 0, completed), 5);
  EXPECT_TRUE(completed);
  EXPECT_EQ(steps_done_on_first(5, 3, completed), 2);
  EXPECT_FALSE(completed);
  EXPECT_EQ(steps_done_on_first(0, 1, completed), 0);
  EXPECT_TRUE(completed) << "nobody was asked";
  Ranks alone;
  EXPECT_TRUE(alone.on_first([](const std::function<bool()>& stops) { return !stops(); }, [] { return false; }));
}

TEST(Ranks, WorkOnTheFirstThatFailsLetsTheOthersContinue) {
  const std::string text = testing::error_of([] {
    on_ranks(2, [](std::unique_ptr<Transport> transport) {
      Ranks all(std::move(transport), kPatient);
      EXPECT_TRUE(all.on_first([](const std::function<bool()>&) -> bool { fail("no memory"); }, [] { return false; }));
      EXPECT_EQ(all.rank(), 1);
    });
  });
  EXPECT_EQ(text, "no memory");
}

TEST(Ranks, NameAllThatAreSilent) {
  const std::string text = testing::error_of([] {
    on_ranks(8, [](std::unique_ptr<Transport> transport) {
      Ranks all(std::move(transport), kPatient);
      if (all.is_first()) {
        all.set_timeout(0.05);
        all.any(false);
      }
    });
  });
  EXPECT_TRUE(
      testing::names(text, {"rank 1 on host-1", "rank 2 on host-2", "rank 3 on host-3", "4", "0.05 seconds", "train.rank_timeout"}));
}

TEST(Ranks, NameTheOneThatIsSilent) {
  const std::string text = testing::error_of([] {
    on_ranks(2,
             [](std::unique_ptr<Transport> transport) {
               Ranks all(std::move(transport), 0.05);
               all.any(false);
             },
             {.silent = 1});
  });
  EXPECT_TRUE(testing::names(text, {"rank 1", "0.05 seconds", "train.rank_timeout"}));
}

}  // namespace
}  // namespace dikkat
