// Compares models of the Llama family and mixtures of their parts, with the weights of llama.h5, with PyTorch's float64 results
// (make_llama_fixture.py).

#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/names.h"
#include "autograd/base/parallel.h"
#include "autograd/ops/loss.h"
#include "layers/models/gpt.h"
#include "optim/adamw.h"
#include "tests/golden/compare.h"
#include "tests/golden/fixture.h"
#include "tests/support/without_cache.h"
#include "train/sample/generate.h"

namespace dikkat::llama_test {
namespace {

/// Bounds of errors relative to a tensor's largest magnitude. Those for f32 are the ones promised for a forward and backward pass.
template <class T>
struct Bounds {
  static constexpr bool kDouble = std::is_same_v<T, double>;
  static constexpr double kLogits = kDouble ? 1e-13 : 1e-5;
  static constexpr double kLoss = kDouble ? 1e-14 : 1e-6;
  static constexpr double kGradient = kDouble ? 1e-12 : 1e-4;
  static constexpr double kStep = kDouble ? 1e-12 : 1e-5;  // of weights; eps is large enough for a step to follow its gradient smoothly
};

TransformerConfig config_of(const Fixture& fixture, const std::string& at) {
  const auto number = [&](const char* name) { return fixture.attribute(at + name); };
  const auto size = [&](const char* name) { return static_cast<index>(number(name)); };
  const auto flag = [&](const char* name) { return number(name) == 1; };
  const auto choose = [&](const char* name, auto& choice) {
    using Choice = std::decay_t<decltype(choice)>;
    const std::string text = fixture.text(at + name);
    const std::optional<Choice> value = value_named<Choice>(text);
    require(value.has_value(), at, name, ": found ", text, ", expected one of ", all_names<Choice>());
    choice = *value;
  };
  TransformerConfig c;
  c.n_layer = size("n_layer");
  c.n_head = size("n_head");
  c.n_kv_head = size("n_kv_head");
  c.n_embd = size("n_embd");
  c.head_size = size("head_size");
  c.n_hidden = size("n_hidden");
  c.block_size = size("block_size");
  c.vocab_size = size("vocab_size");
  c.bias = flag("bias");
  c.qkv_bias = flag("qkv_bias");
  c.tie_embeddings = flag("tie_embeddings");
  NormKind norm{};
  choose("norm", norm);
  c.norm = norm;
  c.norm_eps = number("norm_eps");
  Positions positions{};
  choose("positions", positions);
  c.positions = positions;
  c.rope_theta = number("rope_theta");
  RopeScaling scaling{};
  choose("rope_scaling", scaling);
  c.rope_scaling = scaling;
  c.rope_factor = number("rope_factor");
  c.rope_low_freq_factor = number("rope_low_freq_factor");
  c.rope_high_freq_factor = number("rope_high_freq_factor");
  c.rope_original_context = size("rope_original_context");
  Activation activation{};
  choose("activation", activation);
  c.activation = activation;
  c.gated = flag("gated");
  c.qk_norm = flag("qk_norm");
  choose("qk_norm_over", c.qk_norm_over);
  NormPosition norm_position{};
  choose("norm_position", norm_position);
  c.norm_position = norm_position;
  c.attention_scale = number("attention_scale");
  c.window = size("window");
  c.window_pattern = size("window_pattern");
  c.rope_theta_local = number("rope_theta_local");
  c.rope_share = number("rope_share");
  c.rope_amplitude = number("rope_amplitude");
  if (const auto parts = fixture.names(at); std::find(parts.begin(), parts.end(), "rope_short_factors") != parts.end()) {
    c.rope_short_factors = fixture.read(at + "rope_short_factors");
  }
  c.rope_pattern = size("rope_pattern");
  c.scale_embeddings = flag("scale_embeddings");
  c.embedding_scale = number("embedding_scale");
  c.residual_scale = number("residual_scale");
  c.logit_scale = number("logit_scale");
  c.logit_softcap = number("logit_softcap");
  c.embedding_norm = flag("embedding_norm");
  c.residual_scalars = flag("residual_scalars");
  choose("value_embeddings", c.value_embeddings);
  return c;
}

/// A model of the fixture, with its weights and its batch.
template <class T>
class Model {
 public:
  Model(const Fixture& fixture, const std::string& at)
      : store(kDType<T>),
        gpt(Scope(store), config_of(fixture, at)),
        tokens(fixture.read_ints(at + "tokens")),
        targets(fixture.read_ints(at + "targets")),
        sequences(fixture.shape(at + "tokens").at(0)),
        time(fixture.shape(at + "tokens").at(1)) {
    store.allocate(0);
    for (ParameterStore::Entry* entry : store.entries()) {
      names.push_back(entry->path);
      const std::vector<double> values = fixture.read(at + "weights/" + entry->path);
      require(static_cast<index>(values.size()) == entry->size(), at, entry->path, ": ", entry->size(), " values, expected ",
              values.size());
      std::transform(values.begin(), values.end(), store.weights<T>() + entry->offset, [](double value) { return static_cast<T>(value); });
    }
    std::sort(names.begin(), names.end());
  }

  std::vector<double> logits() const {
    Tape tape(Recording::off);
    Pass pass{.tape = tape};
    const Tensor y = gpt(pass, tape.input<std::int32_t>({sequences, time}, tokens));
    return {y.data<T>(), y.data<T>() + y.size()};
  }

  /// The logits, computed in pieces with a cache of keys and values.
  std::vector<double> logits_in_pieces(const std::vector<index>& pieces) const {
    const index vocabulary = gpt.config().vocab_size;
    std::vector<double> result(static_cast<std::size_t>(sequences * time * vocabulary));
    KeyValueCache cache = gpt.cache(sequences);
    Tape tape(Recording::off);
    index at = 0;
    for (const index piece : pieces) {
      std::vector<std::int32_t> part;
      for (index s = 0; s < sequences; ++s) {
        part.insert(part.end(), tokens.begin() + s * time + at, tokens.begin() + s * time + at + piece);
      }
      Pass pass{.tape = tape};
      const Tensor y = gpt.logits(pass, gpt.features(pass, tape.input<std::int32_t>({sequences, piece}, part), cache));
      for (index s = 0; s < sequences; ++s) {
        std::copy_n(y.data<T>() + s * piece * vocabulary, piece * vocabulary, result.begin() + (s * time + at) * vocabulary);
      }
      tape.reset();
      at += piece;
    }
    require(at == time, "pieces of ", at, " tokens, expected ", time);
    return result;
  }

  /// Returns the loss from a matrix of logits, and adds its gradients to those in the store.
  double learn_from_logits() {
    return learn([&](Pass& pass, Tensor input, Tensor wanted) { return cross_entropy(gpt(pass, input), wanted); });
  }
  /// As learn_from_logits(), without that matrix, as training computes it.
  double learn_from_features() {
    return learn([&](Pass& pass, Tensor input, Tensor wanted) {
      CrossEntropyOptions options;
      options.is_root = true;
      options.softcap = gpt.config().logit_softcap;
      return linear_cross_entropy(gpt.features(pass, input), gpt.head(), wanted, options);
    });
  }

  std::vector<double> gradient(const std::string& name) { return slice_of(store.template gradients<T>(), name); }
  std::vector<double> weight(const std::string& name) { return slice_of(store.template weights<T>(), name); }

 private:
  WithThreads one_{1};  // models this small gain nothing from a second thread, and on a busy machine wait for it

 public:
  ParameterStore store;
  Gpt gpt;
  std::vector<std::int32_t> tokens, targets;  // (sequences, time)
  index sequences, time;
  std::vector<std::string> names{};  // sorted

 private:
  template <class Loss>
  double learn(Loss loss_of) {
    Tape tape;
    Pass pass{.tape = tape, .training = true};
    const Tensor loss =
        loss_of(pass, tape.input<std::int32_t>({sequences, time}, tokens), tape.input<std::int32_t>({sequences, time}, targets));
    tape.backward(loss);
    store.complete_gradients();
    return static_cast<double>(*loss.data<T>());
  }

  std::vector<double> slice_of(const T* slab, const std::string& name) const {
    const ParameterStore::Entry& entry = store.entry(name);
    return {slab + entry.offset, slab + entry.offset + entry.size()};
  }
};

/// Calls check("llama31/") for each group. A group that throws fails the test and does not hide those after it.
template <class Check>
void for_each_group(const Fixture& fixture, Check check) {
  for (const std::string& group : fixture.names("/")) {
    try {
      check(group + "/");
    } catch (const std::exception& error) {
      ADD_FAILURE() << group << ": " << error.what();
    }
  }
}

template <class T>
class GoldenLlama : public ::testing::Test {
 protected:
  void expect_gradients(Model<T>& model, const std::string& at) const {
    for (const std::string& name : model.names) {
      EXPECT_LE(error_of(model.gradient(name), fixture_.read(at + "gradients/" + name)), Bounds<T>::kGradient) << at << name;
    }
  }

  const Fixture fixture_{golden("llama.h5")};
};

TYPED_TEST_SUITE(GoldenLlama, FloatTypes, FloatTypeName);

TYPED_TEST(GoldenLlama, HasThePyTorchModelsParameters) {
  for_each_group(this->fixture_, [this](const std::string& at) {
    Model<TypeParam> model(this->fixture_, at);
    EXPECT_EQ(model.names, this->fixture_.names(at + "weights")) << at;
    for (const std::string& name : model.names) {
      const auto extents = model.store.entry(name).shape().extents();
      EXPECT_EQ(std::vector(extents.begin(), extents.end()), this->fixture_.shape(at + "weights/" + name)) << at << name;
    }
  });
}

TYPED_TEST(GoldenLlama, ComputesTheLogits) {
  for_each_group(this->fixture_, [this](const std::string& at) {
    EXPECT_LE(error_of(Model<TypeParam>(this->fixture_, at).logits(), this->fixture_.read(at + "logits")), Bounds<TypeParam>::kLogits)
        << at;
  });
}

// Positions count on from the cache's length, and each head finds the keys and values of its group there.
TYPED_TEST(GoldenLlama, ComputesTheLogitsInPiecesWithACache) {
  for_each_group(this->fixture_, [this](const std::string& at) {
    const Model<TypeParam> model(this->fixture_, at);
    const std::vector<double> expected = this->fixture_.read(at + "logits");
    const index half = model.time / 2;
    for (const std::vector<index>& pieces : {std::vector<index>{half, model.time - half},
                                             {1, model.time - 2, 1},
                                             std::vector<index>(static_cast<std::size_t>(model.time), 1)}) {
      EXPECT_LE(error_of(model.logits_in_pieces(pieces), expected), Bounds<TypeParam>::kLogits) << at << pieces.size() << " pieces";
    }
  });
}

TYPED_TEST(GoldenLlama, ComputesTheLossAndEveryGradient) {
  for_each_group(this->fixture_, [this](const std::string& at) {
    Model<TypeParam> model(this->fixture_, at);
    EXPECT_LE(error_of({model.learn_from_logits()}, this->fixture_.read(at + "loss")), Bounds<TypeParam>::kLoss) << at;
    this->expect_gradients(model, at);
  });
}

TYPED_TEST(GoldenLlama, ComputesTheSameWithoutAMatrixOfLogits) {
  for_each_group(this->fixture_, [this](const std::string& at) {
    Model<TypeParam> model(this->fixture_, at);
    EXPECT_LE(error_of({model.learn_from_features()}, this->fixture_.read(at + "loss")), Bounds<TypeParam>::kLoss) << at;
    this->expect_gradients(model, at);
  });
}

TYPED_TEST(GoldenLlama, TakesPyTorchsStep) {
  int stepped = 0;
  for_each_group(this->fixture_, [this, &stepped](const std::string& at) {
    const std::vector<std::string> parts = this->fixture_.names(at);
    if (std::find(parts.begin(), parts.end(), "adamw") == parts.end()) {
      return;
    }
    ++stepped;
    const auto setting = [&](const char* name) { return this->fixture_.attribute(at + "adamw/" + name); };
    Model<TypeParam> model(this->fixture_, at);
    AdamW adamw(model.store,
                {.beta1 = setting("beta1"), .beta2 = setting("beta2"), .eps = setting("eps"), .weight_decay = setting("weight_decay")});
    model.learn_from_features();
    adamw.step(1, setting("learning_rate"), 1.0);
    for (const std::string& name : model.names) {
      EXPECT_LE(error_of(model.weight(name), this->fixture_.read(at + "adamw/weights/" + name)), Bounds<TypeParam>::kStep) << at << name;
    }
  });
  EXPECT_EQ(stepped, 12);
}

TEST(GoldenLlamaText, IsPyTorchsTokenForToken) {
  const Fixture fixture(golden("llama.h5"));
  for_each_group(fixture, [&](const std::string& at) {
    const Model<float> model(fixture, at);
    const std::vector<Token> prompt = fixture.read_ints(at + "prompt");
    const std::vector<Token> expected = fixture.read_ints(at + "greedy");
    ASSERT_EQ(static_cast<index>(prompt.size() + expected.size()), model.gpt.config().block_size) << at << "the text must fill the context";
    const index vocabulary = model.gpt.config().vocab_size;
    const SampleOptions options{.max_new_tokens = static_cast<index>(expected.size()), .temperature = 0};
    EXPECT_EQ(generate(model.gpt, {.size = vocabulary}, prompt, options).at(0).tokens, expected) << at;
    EXPECT_EQ(testing::generate_without_cache(model.gpt, vocabulary, prompt, options, 1), expected) << at << " without a cache";
  });
}

}  // namespace
}  // namespace dikkat::llama_test
