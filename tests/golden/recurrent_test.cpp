// Compares recurrent layers, forward and backward, with the float64 results of torch.nn.RNN, GRU and LSTM (make_recurrent_fixture.py).

#include "layers/recurrent.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/golden/compare.h"
#include "tests/golden/fixture.h"

namespace dikkat::recurrent_test {
namespace {

// Bounds relative to a tensor's largest magnitude.
template <class T>
constexpr double kTolerance = std::is_same_v<T, double> ? 1e-14 : 1e-6;

template <class T>
std::vector<double> values_of(const void* data, index count) {
  const auto* first = static_cast<const T*>(data);
  return {first, first + count};
}

template <class T, class Layer>
void check_case(const std::string& name, bool with_bias, bool with_h0) {
  SCOPED_TRACE(name);
  const Fixture fixture(golden("recurrent.h5"));
  const auto read = [&](const std::string& what) { return fixture.read(name + "/" + what); };
  const std::vector<index> x_shape = fixture.shape(name + "/x"), y_shape = fixture.shape(name + "/y");
  const index batch = x_shape.at(0), time = x_shape.at(1), in = x_shape.at(2), hidden = y_shape.at(2);

  // Make the layer with PyTorch's weights.
  ParameterStore store(kDType<T>);
  const Layer layer(Scope(store), in, hidden, with_bias);
  store.allocate(0);
  std::vector<std::string> names;
  for (ParameterStore::Entry* entry : store.entries()) {
    names.push_back(entry->path);
    const auto values = read("weights/" + entry->path);
    ASSERT_EQ(static_cast<index>(values.size()), entry->size());
    std::copy(values.begin(), values.end(), static_cast<T*>(entry->record.data));
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, fixture.names(name + "/weights"));

  // Compare forward.
  Tape tape;
  const auto input = [&](const char* what, Shape shape, bool needs_gradient) {
    const auto values = read(what);
    return tape.input<T>(shape, std::vector<T>(values.begin(), values.end()), needs_gradient);
  };
  const Tensor x = input("x", {batch, time, in}, true);
  const Tensor h0 = with_h0 ? input("h0", {batch, hidden}, true) : Tensor{};
  Pass pass{.tape = tape};
  Tensor c0, y;
  if constexpr (std::is_same_v<Layer, Lstm>) {
    c0 = with_h0 ? input("c0", {batch, hidden}, true) : Tensor{};
    const Lstm::Output output = layer.run(pass, x, {.h = h0, .c = c0});
    y = output.states;
    EXPECT_LE(error_of(values_of<T>(output.last.c.data<T>(), batch * hidden), read("c")), kTolerance<T>);
    EXPECT_EQ(values_of<T>(output.last.h.data<T>(), batch * hidden), values_of<T>(slice(y, 1, time - 1, 1).data<T>(), batch * hidden));
  } else {
    y = layer(pass, x, h0);
  }
  EXPECT_LE(error_of(values_of<T>(y.data<T>(), y.size()), read("y")), kTolerance<T>);

  // Compare the gradients.
  tape.backward(y, input("dy", {batch, time, hidden}, false));
  ASSERT_NE(tape.gradient<T>(x), nullptr);
  EXPECT_LE(error_of(values_of<T>(tape.gradient<T>(x), x.size()), read("dx")), kTolerance<T>);
  if (with_h0) {
    ASSERT_NE(tape.gradient<T>(h0), nullptr);
    EXPECT_LE(error_of(values_of<T>(tape.gradient<T>(h0), h0.size()), read("dh0")), kTolerance<T>);
  }
  if (c0) {
    ASSERT_NE(tape.gradient<T>(c0), nullptr);
    EXPECT_LE(error_of(values_of<T>(tape.gradient<T>(c0), c0.size()), read("dc0")), kTolerance<T>);
  }
  for (const ParameterStore::Entry* entry : store.entries()) {
    ASSERT_TRUE(entry->gradient.written) << entry->path;
    EXPECT_LE(error_of(values_of<T>(entry->gradient.data, entry->size()), read("gradients/" + entry->path)), kTolerance<T>) << entry->path;
  }
}

template <class T, class Layer>
void check_all_cases(const std::string& layer) {
  for (const bool bias : {true, false}) {
    for (const bool h0 : {false, true}) {
      check_case<T, Layer>(layer + (bias ? "" : "_no_bias") + (h0 ? "_h0" : ""), bias, h0);
    }
  }
}

template <class T>
class GoldenRecurrent : public ::testing::Test {};

TYPED_TEST_SUITE(GoldenRecurrent, FloatTypes, FloatTypeName);

TYPED_TEST(GoldenRecurrent, TanhRnn) { check_all_cases<TypeParam, Recurrent>("rnn"); }

TYPED_TEST(GoldenRecurrent, Gru) { check_all_cases<TypeParam, Gru>("gru"); }

TYPED_TEST(GoldenRecurrent, Lstm) { check_all_cases<TypeParam, Lstm>("lstm"); }

}  // namespace
}  // namespace dikkat::recurrent_test
