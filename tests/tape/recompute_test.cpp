#include "autograd/tape/recompute.h"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/throws.h"
#include "tests/tape/own_ops.h"

namespace dikkat {
namespace {

using testing::names;

using testing::plus;
using testing::squared;
using testing::times;
using testing::total;

constexpr index kSize = 1000;

std::vector<double> values(double factor) {
  std::vector<double> x(kSize);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = factor * std::sin(static_cast<double>(i));
  }
  return x;
}

/// Two inputs to two outputs, with more intermediate results than outputs.
struct Link {
  std::array<Tensor, 2> operator()(Tape&, const std::array<Tensor, 2>& in) const {
    const Tensor product = squared(plus(in[0], times(in[1], 3)));
    return {plus(product, in[0]), times(squared(product), 0.01)};
  }
};

/// The gradients of a chain of links, and the memory that it took.
struct Chain {
  std::vector<double> da, db;
  std::size_t activation_bytes = 0;
};
Chain chain(bool recomputed, int links) {
  Tape tape;
  Chain result;
  for (int step = 0; step < 3; ++step) {
    const Tensor a = tape.input<double>({kSize}, values(0.1), true);
    const Tensor b = tape.input<double>({kSize}, values(0.2), true);
    std::array<Tensor, 2> x{a, b};
    for (int i = 0; i < links; ++i) {
      x = recomputed ? recompute<2>(tape, x, Link{}) : Link{}(tape, x);
    }
    tape.backward(total(plus(x[0], x[1])));
    result.da.assign(tape.gradient<double>(a), tape.gradient<double>(a) + kSize);
    result.db.assign(tape.gradient<double>(b), tape.gradient<double>(b) + kSize);
    tape.reset();
    tape.freeze();  // later steps need no more
  }
  result.activation_bytes = tape.activation_bytes();
  return result;
}

TEST(Recompute, GivesTheSameBits) {
  for (const int links : {1, 2, 3}) {
    const Chain kept = chain(false, links), made_again = chain(true, links);
    EXPECT_EQ(kept.da, made_again.da) << links;
    EXPECT_EQ(kept.db, made_again.db) << links;
  }
}

TEST(Recompute, KeepsOnlyTheOutputs) {
  const std::size_t one = chain(true, 1).activation_bytes, nine = chain(true, 9).activation_bytes;
  constexpr std::size_t kOutputs = 2 * kSize * sizeof(double);
  EXPECT_LT(nine - one, 8 * (kOutputs + 1024));
  EXPECT_GT(chain(false, 9).activation_bytes, nine * 2);
}

TEST(Recompute, OutputsMayBeInputsOrAbsent) {
  Tape tape;
  const Tensor a = tape.input<double>({kSize}, values(0.1), true);
  const auto out = recompute<3>(tape, std::array{a, Tensor{}}, [](Tape&, const std::array<Tensor, 2>& in) {
    EXPECT_FALSE(in[1]);
    return std::array{in[0], times(in[0], 5), Tensor{}};
  });
  EXPECT_FALSE(out[2]);
  tape.backward(total(plus(out[0], out[1])));
  EXPECT_EQ(std::vector<double>(tape.gradient<double>(a), tape.gradient<double>(a) + kSize), std::vector<double>(kSize, 6.0));
}

TEST(Recompute, AnOutputThatNothingNeedsAddsNothing) {
  Tape tape;
  const Tensor a = tape.input<double>({kSize}, values(0.1), true);
  const auto out = recompute<2>(tape, std::array{a, a}, Link{});
  tape.backward(total(times(plus(out[0], a), 1)));
  Tape other;
  const Tensor b = other.input<double>({kSize}, values(0.1), true);
  other.backward(total(times(plus(Link{}(other, {b, b})[0], b), 1)));
  for (index i = 0; i < kSize; ++i) {
    EXPECT_NEAR(tape.gradient<double>(a)[i], other.gradient<double>(b)[i], 1e-12) << i;
  }
}

TEST(Recompute, WithoutRecordingItRunsOnceAndKeepsOnlyTheOutputs) {
  const auto bytes_of = [](int times_squared) {
    Tape tape(Recording::off);
    int calls = 0;
    const Tensor a = tape.input<double>({kSize}, values(0.1));
    const auto link = [&](Tape&, const std::array<Tensor, 1>& in) {
      ++calls;
      Tensor y = squared(in[0]);
      for (int i = 1; i < times_squared; ++i) {
        y = times(y, 1);
      }
      return std::array{y};
    };
    Tensor out = recompute<1>(tape, std::array{a}, link)[0];
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(out.data<double>()[1], a.data<double>()[1] * a.data<double>()[1]);
    for (int i = 0; i < 9; ++i) {
      out = recompute<1>(tape, std::array{out}, link)[0];
    }
    return tape.activation_bytes();
  };
  constexpr std::size_t kTensor = kSize * sizeof(double);
  EXPECT_LT(bytes_of(9) - bytes_of(1), 9 * (kTensor + 1024)) << "ten parts use the memory of one";
}

TEST(Recompute, OneWithinAnotherIsRefused) {
  Tape tape;
  const Tensor a = tape.input<double>({kSize}, values(0.1), true);
  const auto nested = [](Tape& t, const std::array<Tensor, 1>& in) {
    const Recomputation inner(t, Recording::on);
    return in;
  };
  EXPECT_TRUE(names(testing::error_of([&] { recompute<1>(tape, std::array{a}, nested); }), {"recompute", "within another"}));
  const auto out = recompute<1>(tape, std::array{a}, [](Tape&, const std::array<Tensor, 1>& in) { return std::array{squared(in[0])}; });
  tape.backward(total(out[0]));
  EXPECT_EQ(tape.gradient<double>(a)[7], 2 * values(0.1)[7]) << "the tape works as before";
}

struct Names : TapeObserver {
  void forward_begins() override {}
  void forward_ends(const OpRun& run) override { all += std::string("+") + run.op; }
  void backward_begins() override {}
  void backward_ends(const OpRun& run) override { all += std::string("-") + run.op; }
  std::string all;
};

TEST(Recompute, IsSeenByObservers) {
  Names names;
  Tape tape;
  tape.observe(&names);
  const Tensor a = tape.input<double>({kSize}, values(0.1), true);
  const auto out = recompute<1>(tape, std::array{a}, [](Tape&, const std::array<Tensor, 1>& in) { return std::array{squared(in[0])}; });
  tape.backward(total(out[0]));
  EXPECT_EQ(names.all, "+squared+recompute+total-total+squared-squared-recompute");
}

/// Intermediate results take several chunks of the inner arena. Reports how often the system was asked for memory until the last op.
struct Wide {
  std::int64_t* requests;
  std::array<Tensor, 1> operator()(Tape& tape, const std::array<Tensor, 1>& in) const {
    Tensor x = in[0];
    for (int i = 0; i < 5; ++i) {
      x = squared(plus(x, in[0]));
    }
    const Tensor y = total(x);
    tape.make({1}, DType::f64);
    *requests = Pages::requests();
    return {y};
  }
};

TEST(Recompute, ItsEndAsksForNoMemory) {
  Tape tape;
  const std::vector<double> large(100'000, 0.5);
  const Tensor x = tape.input<double>({100'000}, large, true);
  tape.save<double>(1000);
  std::int64_t requests = 0;
  recompute<1>(tape, std::array{x}, Wide{&requests});
  EXPECT_EQ(Pages::requests(), requests);
}

}  // namespace
}  // namespace dikkat
