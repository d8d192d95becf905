// Compares encoder-decoders with the weights of transformer.h5 with the results of PyTorch's nn.Transformer (make_transformer_fixture.py).

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/parallel.h"
#include "autograd/ops/loss.h"
#include "layers/models/encoder_decoder.h"
#include "tests/golden/compare.h"
#include "tests/golden/fixture.h"

namespace dikkat::transformer_test {
namespace {

/// Bounds of errors relative to a tensor's largest magnitude.
template <class T>
struct Bounds {
  static constexpr bool kDouble = std::is_same_v<T, double>;
  static constexpr double kResult = kDouble ? 1e-14 : 5e-6;
  static constexpr double kGradient = kDouble ? 1e-13 : 2e-5;
};

/// A group of the fixture, with a tape for its inputs and a store for the parameters of the layers that are built with them.
template <class T>
class Group {
 public:
  explicit Group(const std::string& name) : at_(name + "/") {}

  double attribute(const char* name) const { return fixture_.attribute(at_ + name); }
  index size(const char* name) const { return static_cast<index>(attribute(name)); }
  bool flag(const char* name) const { return attribute(name) != 0; }
  std::vector<std::int32_t> ints(const char* name) const { return fixture_.read_ints(at_ + name); }

  Tensor input(const char* name, bool needs_gradient = true) {
    const std::vector<double> values = read(name);
    return tape.input<T>(shape_of(name), std::vector<T>(values.begin(), values.end()), needs_gradient);
  }
  Tensor int_input(const char* name) { return tape.input<std::int32_t>(shape_of(name), ints(name)); }
  /// Converts lengths (B) to the end of the keys that each query of a row sees: (B, queries).
  Tensor key_ends(const char* lengths, index queries) {
    const std::vector<std::int32_t> rows = ints(lengths);
    std::vector<std::int32_t> keys;
    for (const std::int32_t row : rows) {
      keys.insert(keys.end(), static_cast<std::size_t>(queries), row);
    }
    return tape.input<std::int32_t>({static_cast<index>(rows.size()), queries}, keys);
  }

  /// Call it when everything is built: the parameters must be PyTorch's, and get their values there.
  void load_weights() {
    store_.allocate(0);
    std::vector<std::string> names;
    for (const ParameterStore::Entry* entry : store_.entries()) {
      const std::string name = "weights/" + entry->path;
      const std::vector<double> values = read(name);
      ASSERT_EQ(entry->shape(), shape_of(name)) << at_ << name;
      std::transform(values.begin(), values.end(), store_.weights<T>() + entry->offset, [](double value) { return static_cast<T>(value); });
      names.push_back(entry->path);
    }
    std::sort(names.begin(), names.end());
    ASSERT_EQ(names, fixture_.names(at_ + "weights"));
  }

  void expect(Tensor x, const std::string& name) const { expect(x.data<T>(), x.size(), name, Bounds<T>::kResult); }
  void expect_gradient(Tensor x, const std::string& name) const {
    const T* gradient = tape.gradient<T>(x);
    ASSERT_NE(gradient, nullptr) << at_ << name;
    expect(gradient, x.size(), name, Bounds<T>::kGradient);
  }
  /// Compares the gradients of all parameters.
  void expect_gradients(const std::string& group) {
    store_.complete_gradients();
    for (const ParameterStore::Entry* entry : store_.entries()) {
      expect(store_.gradients<T>() + entry->offset, entry->size(), group + "/" + entry->path, Bounds<T>::kGradient);
    }
  }

  Tape tape;
  Scope scope() { return Scope(store_); }

 private:
  std::vector<double> read(const std::string& name) const { return fixture_.read(at_ + name); }
  Shape shape_of(const std::string& name) const {
    const std::vector<index> e = fixture_.shape(at_ + name);
    return e.size() == 1 ? Shape{e[0]} : e.size() == 2 ? Shape{e[0], e[1]} : Shape{e.at(0), e.at(1), e.at(2)};
  }
  void expect(const T* found, index count, const std::string& name, double bound) const {
    EXPECT_LE(error_of({found, found + count}, read(name)), bound) << at_ << name;
  }

  const Fixture fixture_{golden("transformer.h5")};
  std::string at_;
  ParameterStore store_{kDType<T>};
  WithThreads one_{1};  // nothing this small gains from a second thread
};

template <class T>
TransformerConfig config_of(const Group<T>& group) {
  return {.n_layer = group.size("n_layer"),
          .n_encoder_layer = group.size("n_encoder_layer"),
          .n_head = group.size("n_head"),
          .n_embd = group.size("n_embd"),
          .n_hidden = group.size("n_hidden"),
          .norm_position = group.flag("pre_norm") ? NormPosition::pre : NormPosition::post,
          .final_norm = group.flag("final_norm"),
          .activation = Activation::relu};
}

/// A stack, and the norm after it if the fixture has one.
struct NormedStack {
  Stack h;
  std::optional<Norm> ln_f;

  NormedStack(const Scope& s, const TransformerConfig& config, const StackKind& kind) : h(s / "h", config, kind) {
    if (config.final_norm) {
      ln_f.emplace(s / "ln_f", config);
    }
  }
  Tensor operator()(Pass& pass, Tensor x, const StackInputs& inputs) const {
    const Tensor y = h(pass, x, inputs);
    return ln_f ? (*ln_f)(pass, y) : y;
  }
};

template <class T>
class GoldenTransformer : public ::testing::Test {};

TYPED_TEST_SUITE(GoldenTransformer, FloatTypes, FloatTypeName);

/// Compares a layer from vectors to vectors. Rows that are padding are computed like any other, here and in PyTorch, and so are compared
/// too; their dy is 0.
template <class T>
void check_stacks(const char* name) {
  Group<T> group(name);
  const TransformerConfig config = with_defaults(config_of(group));
  const NormedStack encoder(group.scope() / "encoder", config, {.layers = config.n_encoder_layer, .causal = false});
  const NormedStack decoder(group.scope() / "decoder", config, {.layers = config.n_layer, .cross = true});
  group.load_weights();
  const Tensor src = group.input("src");
  const Tensor tgt = group.input("tgt");
  const index time = tgt.shape()[1];

  Pass pass{.tape = group.tape, .training = true};
  const Tensor encoder_output = encoder(pass, src, {.key_end = group.key_ends("src_lengths", src.shape()[1])});
  const Tensor y = decoder(pass, tgt,
                           {.key_end = group.key_ends("tgt_lengths", time),
                            .encoder_output = encoder_output,
                            .encoder_key_end = group.key_ends("src_lengths", time)});
  group.tape.backward(y, group.input("dy", false));

  group.expect(encoder_output, "memory");
  group.expect(y, "y");
  group.expect_gradient(src, "dsrc");
  group.expect_gradient(tgt, "dtgt");
  group.expect_gradients("gradients");
}

TYPED_TEST(GoldenTransformer, ComputesPostNormStacks) { check_stacks<TypeParam>("post_norm"); }
TYPED_TEST(GoldenTransformer, ComputesPreNormStacks) { check_stacks<TypeParam>("pre_norm"); }

/// Compares a model from tokens to the loss.
template <class T>
void check_model(const std::string& name, bool smoothed) {
  Group<T> group(name);
  const bool one_table = name == "shared";  // read three times, so that its gradient has three parts
  TransformerConfig config = config_of(group);
  config.block_size = group.size("block_size");
  config.vocab_size = group.size("vocab_size");
  config.tie_embeddings = config.share_embeddings = one_table;
  const EncoderDecoder model(group.scope(), config);
  group.load_weights();
  const Tensor labels = group.int_input("labels");
  std::vector<float> weights;  // of padding 0
  for (const std::int32_t label : group.ints("labels")) {
    weights.push_back(label < 0 ? 0.0F : 1.0F);
  }

  Pass pass{.tape = group.tape, .training = true};
  const EncoderDecoder::EncoderOutput encoded = model.encode(pass, group.int_input("source"), group.int_input("source_lengths"));
  const Tensor logits = model.logits(pass, model.features(pass, group.int_input("target"), encoded, group.int_input("target_lengths")));
  const Tensor loss = cross_entropy(logits, labels,
                                    {.weights = group.tape.template input<float>(labels.shape(), weights),
                                     .normalizer = std::accumulate(weights.begin(), weights.end(), 0.0),
                                     .label_smoothing = smoothed ? group.attribute("label_smoothing") : 0});
  group.tape.backward(loss);

  const std::string part = smoothed ? "smoothed/" : "plain/";
  group.expect(logits, "logits");
  group.expect(loss, part + "loss");
  group.expect_gradients(part + "gradients");
}

TYPED_TEST(GoldenTransformer, ComputesModelsWithOneTable) { check_model<TypeParam>("shared", false); }
TYPED_TEST(GoldenTransformer, ComputesModelsWithThreeTables) { check_model<TypeParam>("apart", false); }
TYPED_TEST(GoldenTransformer, ComputesSmoothedLosses) {
  check_model<TypeParam>("shared", true);
  check_model<TypeParam>("apart", true);
}

}  // namespace
}  // namespace dikkat::transformer_test
