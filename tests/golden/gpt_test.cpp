// Compares GPTs with the weights of gpt.h5 with PyTorch's float64 results (make_gpt_fixture.py).

#include "layers/models/gpt.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/parallel.h"
#include "autograd/ops/loss.h"
#include "optim/adamw.h"
#include "optim/clip.h"
#include "optim/schedule.h"
#include "tests/golden/compare.h"
#include "tests/golden/fixture.h"

namespace dikkat::gpt_test {
namespace {

/// Bounds of errors relative to a tensor's largest magnitude. Those for f32 are the ones promised for a forward and backward pass.
template <class T>
struct Bounds {
  static constexpr bool kDouble = std::is_same_v<T, double>;
  static constexpr double kLogits = kDouble ? 1e-13 : 1e-5;
  static constexpr double kLoss = kDouble ? 1e-14 : 1e-6;
  static constexpr double kGradient = kDouble ? 1e-12 : 1e-4;
  static constexpr double kKeyBias = kDouble ? 1e-15 : 1e-6;  // absolute: the true gradient is zero
};

struct Batch {
  index sequences = 0, time = 0;
  std::vector<std::int32_t> tokens, targets;
  std::vector<float> weights;  // empty: 1 each

  /// Some of its sequences.
  Batch part(index first, index count) const {
    const auto cut = [&](const auto& all) {
      return all.empty() ? all : std::decay_t<decltype(all)>(all.begin() + first * time, all.begin() + (first + count) * time);
    };
    return {count, time, cut(tokens), cut(targets), cut(weights)};
  }
};

Batch batch_of(const Fixture& fixture, const std::string& at, index step) {
  const std::vector<index> extents = fixture.shape(at + "tokens");  // (steps, B, T)
  const index size = extents.at(1) * extents.at(2);
  const auto cut = [&](const std::string& name) {
    const auto all = fixture.read_ints(at + name);
    return std::vector<std::int32_t>(all.begin() + step * size, all.begin() + (step + 1) * size);
  };
  return {extents[1], extents[2], cut("tokens"), cut("targets"), {}};
}

TransformerConfig config_of(const Fixture& fixture, const std::string& at) {
  const auto key = [&](const char* name) { return static_cast<index>(fixture.attribute(at + name)); };
  return {.n_layer = key("n_layer"),
          .n_head = key("n_head"),
          .n_embd = key("n_embd"),
          .block_size = key("block_size"),
          .vocab_size = key("vocab_size"),
          .dropout = fixture.attribute(at + "dropout"),
          .bias = key("bias") == 1,
          .qkv_bias = key("qkv_bias") == 1,
          .tie_embeddings = key("tie_embeddings") == 1};
}

/// A GPT of the fixture, with the weights that it has there.
template <class T>
class Model {
 public:
  Model(const Fixture& fixture, const std::string& at, std::optional<double> dropout = {})
      : store(kDType<T>), gpt_(Scope(store), with_dropout(config_of(fixture, at), dropout)) {
    store.allocate(0);
    for (ParameterStore::Entry* entry : store.entries()) {
      names.push_back(entry->path);
      const std::vector<double> values = fixture.read(at + "weights/" + entry->path);
      require(static_cast<index>(values.size()) == entry->size(), entry->path, ": ", values.size(), " values, expected ", entry->size());
      std::transform(values.begin(), values.end(), store.weights<T>() + entry->offset, [](double value) { return static_cast<T>(value); });
    }
    std::sort(names.begin(), names.end());
  }

  std::vector<double> logits(const Batch& batch) {
    Tape tape(Recording::off);
    const Tensor y = forward(tape, batch);
    return {y.data<T>(), y.data<T>() + y.size()};
  }

  /// Returns the loss, and adds its gradients to those in the store.
  double learn(const Batch& batch, std::optional<double> normalizer = {}, index first_sequence = 0) {
    Tape tape;
    const Tensor logits = forward(tape, batch, first_sequence);
    const Tensor targets = tape.input<std::int32_t>({batch.sequences, batch.time}, batch.targets);
    const Tensor weights = batch.weights.empty() ? Tensor{} : tape.input<float>({batch.sequences, batch.time}, batch.weights);
    const Tensor loss = cross_entropy(logits, targets, {.weights = weights, .normalizer = normalizer});
    tape.backward(loss);
    return static_cast<double>(*loss.data<T>());
  }

  std::vector<double> gradient(const std::string& name) { return slice_of(store.gradients<T>(), name); }
  std::vector<double> weight(const std::string& name) { return slice_of(store.weights<T>(), name); }

  ParameterStore store;
  std::vector<std::string> names;  // sorted

 private:
  static TransformerConfig with_dropout(TransformerConfig config, std::optional<double> dropout) {
    config.dropout = dropout.value_or(config.dropout);
    return config;
  }

  Tensor forward(Tape& tape, const Batch& batch, index first_sequence = 0) {
    Pass pass{.tape = tape, .training = true, .seed = 5, .step = 3, .first_sequence = first_sequence};
    return gpt_(pass, tape.input<std::int32_t>({batch.sequences, batch.time}, batch.tokens));
  }

  std::vector<double> slice_of(const T* slab, const std::string& name) {
    const ParameterStore::Entry& entry = store.entry(name);
    return {slab + entry.offset, slab + entry.offset + entry.size()};
  }

  WithThreads one_{1};  // models this small gain nothing from a second thread, and on a busy machine wait for it
  Gpt gpt_;
};

/// The largest of the tensors' errors between two models' gradients.
template <class T>
double gradient_error(Model<T>& actual, Model<T>& expected) {
  actual.store.complete_gradients();
  expected.store.complete_gradients();
  double worst = 0;
  for (const std::string& name : expected.names) {
    worst = std::max(worst, error_of(actual.gradient(name), expected.gradient(name)));
  }
  return worst;
}

template <class T>
class GoldenGpt : public ::testing::Test {
 protected:
  const Fixture fixture_{golden("gpt.h5")};
  const std::vector<std::string> models_{"", "untied/", "unbiased/"};
};

TYPED_TEST_SUITE(GoldenGpt, FloatTypes, FloatTypeName);

TYPED_TEST(GoldenGpt, HasThePyTorchModelsParameters) {
  for (const std::string& at : this->models_) {
    Model<TypeParam> model(this->fixture_, at);
    EXPECT_EQ(model.names, this->fixture_.names(at + "weights")) << at;
    for (const std::string& name : model.names) {
      const auto extents = model.store.entry(name).shape().extents();
      EXPECT_EQ(std::vector(extents.begin(), extents.end()), this->fixture_.shape(at + "weights/" + name)) << at << name;
    }
  }
}

TYPED_TEST(GoldenGpt, ComputesTheLogits) {
  for (const std::string& at : this->models_) {
    Model<TypeParam> model(this->fixture_, at);
    EXPECT_LE(error_of(model.logits(batch_of(this->fixture_, at, 0)), this->fixture_.read(at + "logits")), Bounds<TypeParam>::kLogits)
        << at;
  }
}

TYPED_TEST(GoldenGpt, ComputesTheLossAndEveryGradient) {
  for (const std::string& at : this->models_) {
    Model<TypeParam> model(this->fixture_, at);
    const double loss = model.learn(batch_of(this->fixture_, at, 0));
    EXPECT_LE(error_of({loss}, this->fixture_.read(at + "loss")), Bounds<TypeParam>::kLoss) << at;
    for (const std::string& name : model.names) {
      EXPECT_LE(error_of(model.gradient(name), this->fixture_.read(at + "gradients/" + name)), Bounds<TypeParam>::kGradient) << at << name;
    }
  }
}

// softmax(q (k + b)) = softmax(q k): a number that is added to all keys changes no score relative to the others.
TYPED_TEST(GoldenGpt, FindsNoGradientInTheKeyBias) {
  Model<TypeParam> model(this->fixture_, "");
  model.learn(batch_of(this->fixture_, "", 0));
  for (const char* name : {"h.0.attn.c_attn.bias", "h.1.attn.c_attn.bias"}) {
    const std::vector<double> gradient = model.gradient(name);
    const std::size_t width = gradient.size() / 3;
    for (std::size_t row = width; row < 2 * width; ++row) {
      EXPECT_LE(std::abs(gradient[row]), Bounds<TypeParam>::kKeyBias) << name << " " << row;
    }
  }
}

TYPED_TEST(GoldenGpt, WeighsTargetsAndDividesByTheNormalizer) {
  for (const std::string& at : this->models_) {
    Model<TypeParam> model(this->fixture_, at);
    Batch batch = batch_of(this->fixture_, at, 0);
    const std::vector<double> weights = this->fixture_.read(at + "weighted/target_weights");
    batch.weights.assign(weights.begin(), weights.end());
    const double loss = model.learn(batch, this->fixture_.attribute(at + "weighted/normaliser"));
    EXPECT_LE(error_of({loss}, this->fixture_.read(at + "weighted/loss")), Bounds<TypeParam>::kLoss) << at;
    for (const std::string& name : this->fixture_.names(at + "weighted/gradients")) {
      EXPECT_LE(error_of(model.gradient(name), this->fixture_.read(at + "weighted/gradients/" + name)), Bounds<TypeParam>::kGradient)
          << at << name;
    }
  }
}

/// Compares micro-batches of one sequence each with all sequences at once.
template <class T>
double micro_batch_error(const Fixture& fixture, const std::string& at, double dropout, double& loss_error) {
  const Batch batch = batch_of(fixture, at, 0);
  Model<T> whole(fixture, at, dropout);
  Model<T> parts(fixture, at, dropout);
  const double expected = whole.learn(batch);
  double loss = 0;
  for (index s = 0; s < batch.sequences; ++s) {
    loss += parts.learn(batch.part(s, 1), static_cast<double>(batch.targets.size()), s);
  }
  loss_error = std::abs(loss - expected) / expected;
  return gradient_error(parts, whole);
}

TYPED_TEST(GoldenGpt, LearnsTheSameFromMicroBatches) {
  constexpr bool kDouble = std::is_same_v<TypeParam, double>;
  for (const double dropout : {0.0, 0.2}) {
    for (const std::string& at : this->models_) {
      double loss_error = 0;
      EXPECT_LE(micro_batch_error<TypeParam>(this->fixture_, at, dropout, loss_error), kDouble ? 1e-12 : 1e-5)
          << at << " dropout " << dropout;
      EXPECT_LE(loss_error, kDouble ? 1e-14 : 1e-6) << at << " dropout " << dropout;
    }
  }
}

// Otherwise the test above would hold for a dropout that drops nothing, or that drops the same in every sequence.
TEST(GoldenGptDropout, DependsOnTheSequencesPlaceInTheBatch) {
  const Fixture fixture(golden("gpt.h5"));
  const Batch one = batch_of(fixture, "", 0).part(0, 1);
  Model<double> without(fixture, "", 0.0), first(fixture, "", 0.2), again(fixture, "", 0.2), second(fixture, "", 0.2);
  const double loss = first.learn(one);
  EXPECT_EQ(loss, again.learn(one));
  EXPECT_GT(std::abs(loss - without.learn(one)), 1e-3);
  EXPECT_GT(std::abs(loss - second.learn(one, {}, 1)), 1e-3);
}

/// How far ten steps of training are from PyTorch's.
struct TrainingErrors {
  double losses = 0, norms = 0, rates = 0;
  double weights = 0;   // without the key bias
  double key_bias = 0;  // absolute
  double typical = 0;   // root mean square of the difference over all weights, without the key bias
};

template <class T>
TrainingErrors train(const Fixture& fixture) {
  const auto setting = [&](const char* name) { return fixture.attribute(std::string("adamw/") + name); };
  const Schedule schedule{.kind = Schedule::Kind::cosine,
                          .learning_rate = setting("lr_max"),
                          .min_lr = setting("lr_min"),
                          .warmup_steps = static_cast<index>(setting("warmup_steps")),
                          .decay_steps = static_cast<index>(setting("decay_steps"))};
  // Train for ten steps.
  Model<T> model(fixture, "");
  AdamW adamw(model.store,
              {.beta1 = setting("beta1"), .beta2 = setting("beta2"), .eps = setting("eps"), .weight_decay = setting("weight_decay")});
  std::vector<double> losses, norms, rates;
  for (index step = 0; step < 10; ++step) {
    losses.push_back(model.learn(batch_of(fixture, "", step)));
    norms.push_back(gradient_norm(model.store));
    rates.push_back(schedule(step));
    adamw.step(step + 1, rates.back(), clip_factor(norms.back(), setting("max_norm")));
  }
  // Compare with PyTorch's run, with the key bias apart.
  TrainingErrors errors{.losses = error_of(losses, fixture.read("adamw/losses")),
                        .norms = error_of(norms, fixture.read("adamw/grad_norms")),
                        .rates = error_of(rates, fixture.read("adamw/learning_rates"))};
  double squares = 0;
  double count = 0;
  for (const std::string& name : model.names) {
    std::vector<double> weight = model.weight(name);
    const std::vector<double> expected = fixture.read("adamw/weights/" + name);
    if (name.ends_with("c_attn.bias")) {
      const std::size_t width = weight.size() / 3;
      for (std::size_t row = width; row < 2 * width; ++row) {
        errors.key_bias = std::max(errors.key_bias, std::abs(weight[row] - expected[row]));
        weight[row] = expected[row];
      }
    }
    errors.weights = std::max(errors.weights, error_of(weight, expected));
    for (std::size_t i = 0; i < weight.size(); ++i) {
      squares += (weight[i] - expected[i]) * (weight[i] - expected[i]);
    }
    count += static_cast<double>(weight.size());
  }
  errors.typical = std::sqrt(squares / count);
  return errors;
}

TEST(GoldenGptTraining, FollowsPyTorchForTenStepsInF64) {
  const TrainingErrors errors = train<double>(Fixture(golden("gpt.h5")));
  EXPECT_LE(errors.rates, 1e-15);
  EXPECT_LE(errors.losses, 1e-12);
  EXPECT_LE(errors.norms, 1e-12);
  EXPECT_LE(errors.weights, 1e-12);
  EXPECT_LE(errors.key_bias, 1e-9);  // rounding noise of 1e-17 over an eps of 1e-8, ten times
}

// Adam divides a gradient by its own size, so an element's update is off by lr times its gradient's *own* relative error. In f32 that error
// is some 1e-7 of the tensor's largest gradient. It is nothing for most elements, but 1e-3 for one that is 1e-4 of the largest, where ten
// steps of lr <= 1e-2 give 1e-4. Hence a bound of 1e-4 for the worst element, and a tight one for their root mean square. The gradient of
// the key bias is only noise, which moves it by up to the learning rate in each step.
TEST(GoldenGptTraining, FollowsPyTorchForTenStepsInF32) {
  const TrainingErrors errors = train<float>(Fixture(golden("gpt.h5")));
  EXPECT_LE(errors.rates, 1e-15);
  EXPECT_LE(errors.losses, 1e-6);
  EXPECT_LE(errors.norms, 1e-6);
  EXPECT_LE(errors.weights, 1e-4);
  EXPECT_LE(errors.typical, 1e-6);
  EXPECT_LE(errors.key_bias, 10 * 1e-2);
}

}  // namespace
}  // namespace dikkat::gpt_test
