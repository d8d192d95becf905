// Compares ops and their gradients at infinities, NaN, zeros and ties with PyTorch's (make_edges_fixture.py). Where they differ, the
// difference must be one of kDifferences, which are rows of the table in docs/OPS.md.

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "autograd/ops/activation.h"
#include "autograd/ops/arithmetic.h"
#include "autograd/ops/arrange.h"
#include "autograd/ops/attention.h"
#include "autograd/ops/basic.h"
#include "autograd/ops/convolution.h"
#include "autograd/ops/embedding.h"
#include "autograd/ops/indexing.h"
#include "autograd/ops/layer_norm.h"
#include "autograd/ops/linear.h"
#include "autograd/ops/loss.h"
#include "autograd/ops/matmul.h"
#include "autograd/ops/reduce.h"
#include "autograd/tape/tape.h"
#include "tests/golden/compare.h"

namespace dikkat::edges_test {
namespace {

using Operands = std::span<const Tensor>;
using Function = std::function<Tensor(Tape&, Operands)>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Tensor ids(Tape& tape, const Shape& shape, const std::vector<std::int32_t>& values) { return tape.input<std::int32_t>(shape, values); }

/// Attention of one query with one head of one column. The query sees as many keys as `end` says.
Function attention_of(std::int32_t end) {
  return [end](Tape& tape, Operands t) {
    const index keys = t[1].size();
    return attention({reshape(t[0], {1, 1, 1})}, {reshape(t[1], {1, keys, 1})}, {reshape(t[2], {1, keys, 1})},
                     {.heads = 1, .head_size = 1, .key_end = ids(tape, {1, 1}, {end})});
  };
}

/// Cross-entropy of these targets. Target -100 is ignored, if there is one.
Function cross_entropy_of(std::vector<std::int32_t> targets, double label_smoothing = 0, const std::vector<float>& class_weights = {}) {
  return [=](Tape& tape, Operands t) {
    CrossEntropyOptions options{.label_smoothing = label_smoothing};
    if (!class_weights.empty()) {
      options.class_weights = tape.input<float>({std::ssize(class_weights)}, class_weights);
    }
    if (targets.front() == -100) {
      options.ignored_target = -100;
    }
    return cross_entropy(t[0], ids(tape, {std::ssize(targets)}, targets), options);
  };
}

/// The call of each name of the fixture.
std::map<std::string, Function> functions() {
  std::map<std::string, Function> all;
  // Ops of one tensor.
  const auto one = [&](const std::string& name, auto f) { all[name] = [f](Tape&, Operands t) { return f(t[0]); }; };
  one("abs", [](Tensor x) { return abs(x); });
  one("square", [](Tensor x) { return square(x); });
  one("sqrt", [](Tensor x) { return sqrt(x); });
  one("rsqrt", [](Tensor x) { return rsqrt(x); });
  one("exp", [](Tensor x) { return exp(x); });
  one("log", [](Tensor x) { return log(x); });
  one("sin", [](Tensor x) { return sin(x); });
  one("cos", [](Tensor x) { return cos(x); });
  one("erf", [](Tensor x) { return erf(x); });
  one("tanh", [](Tensor x) { return tanh(x); });
  one("sigmoid", [](Tensor x) { return sigmoid(x); });
  one("softplus", [](Tensor x) { return softplus(x); });
  one("relu", [](Tensor x) { return relu(x); });
  one("relu2", [](Tensor x) { return relu2(x); });
  one("gelu", [](Tensor x) { return gelu(x); });
  one("silu", [](Tensor x) { return silu(x); });
  one("softcap", [](Tensor x) { return softcap(x, 3); });
  one("negate", [](Tensor x) { return negate(x); });
  one("clamp", [](Tensor x) { return clamp(x, -0.5, 2); });
  one("scale", [](Tensor x) { return scale(x, -3); });
  one("scale by 0", [](Tensor x) { return scale(x, 0); });
  one("add a number", [](Tensor x) { return add(x, 3); });
  one("subtract from a number", [](Tensor x) { return subtract(3, x); });
  one("divide a number", [](Tensor x) { return divide(3, x); });
  one("maximum of a number", [](Tensor x) { return maximum(x, 2); });
  one("minimum of a number", [](Tensor x) { return minimum(x, 2); });
  one("less", [](Tensor x) { return less(x, 0.5); });
  one("less_equal", [](Tensor x) { return less_equal(x, 0.5); });
  one("greater", [](Tensor x) { return greater(x, 0.5); });
  one("greater_equal", [](Tensor x) { return greater_equal(x, 0.5); });
  one("equal", [](Tensor x) { return equal(x, 0.5); });
  one("not_equal", [](Tensor x) { return not_equal(x, 0.5); });
  one("where x > 0", [](Tensor x) { return where(x > 0, x, 0); });
  one("square root where x > 0", [](Tensor x) { return where(x > 0, sqrt(x), 0); });
  one("square root of clamp", [](Tensor x) { return sqrt(clamp(x, 0, 1)); });
  one("x log x where x > 0", [](Tensor x) { return where(x > 0, x * log(x), 0); });
  for (const auto& [name, exponent] : std::map<std::string, double>{
           {"0", 0}, {"0.5", 0.5}, {"1", 1}, {"2", 2}, {"3", 3}, {"-1", -1}, {"-0.5", -0.5}, {"inf", kInfinity}}) {
    one("power " + name, [exponent = exponent](Tensor x) { return power(x, exponent); });
  }
  for (const auto& [name, f] :
       std::map<std::string, Activation>{{"relu", Activation::relu}, {"gelu", Activation::gelu}, {"silu", Activation::silu}}) {
    one("gated " + name, [f = f](Tensor x) { return gated(f, x); });
  }
  // Reductions of rows, and ops that sort them.
  one("sum", [](Tensor x) { return sum(x, 1); });
  one("mean", [](Tensor x) { return mean(x, 1); });
  one("max", [](Tensor x) { return max(x, 1); });
  one("min", [](Tensor x) { return min(x, 1); });
  one("max of all", [](Tensor x) { return max(x); });
  one("min of all", [](Tensor x) { return min(x); });
  one("max of two axes", [](Tensor x) { return max(x, {0, 1}); });
  one("min of two axes", [](Tensor x) { return min(x, {0, 1}); });
  one("argmax", [](Tensor x) { return cast(argmax(x, 1), x.dtype()); });
  one("argmin", [](Tensor x) { return cast(argmin(x, 1), x.dtype()); });
  one("logsumexp", [](Tensor x) { return logsumexp(x, 1); });
  one("variance", [](Tensor x) { return variance(x, 1); });
  one("variance of a population", [](Tensor x) { return variance(x, 1, false, 0); });
  one("softmax", [](Tensor x) { return softmax(x); });
  one("log_softmax", [](Tensor x) { return log_softmax(x); });
  one("cumsum", [](Tensor x) { return cumsum(x, 1); });
  one("sort", [](Tensor x) { return sort(x).values; });
  one("sort descending", [](Tensor x) { return sort(x, -1, true).values; });
  one("topk", [](Tensor x) { return topk(x, 2).values; });
  one("topk smallest", [](Tensor x) { return topk(x, 2, -1, false).values; });
  // Windows and moves of elements.
  const Pool2dOptions wide{.stride = {1, 2}, .padding = {0, 1}};
  const Pool2dOptions of_elements{.stride = {1, 2}, .padding = {0, 1}, .counts_padding = false};
  one("max_pool1d", [](Tensor x) { return max_pool1d(x, 2); });
  one("max_pool2d", [](Tensor x) { return max_pool2d(x, {1, 2}); });
  one("max_pool2d padded", [=](Tensor x) { return max_pool2d(x, {1, 3}, wide); });
  one("avg_pool1d", [](Tensor x) { return avg_pool1d(x, 2); });
  one("avg_pool2d", [](Tensor x) { return avg_pool2d(x, {1, 2}); });
  one("avg_pool2d padded", [=](Tensor x) { return avg_pool2d(x, {1, 3}, wide); });
  one("avg_pool2d of elements", [=](Tensor x) { return avg_pool2d(x, {1, 3}, of_elements); });
  one("unfold", [](Tensor x) { return unfold(x, {1, 2}); });
  one("pad", [](Tensor x) { return pad(x, 0, 1, 1); });
  one("diagonal", [](Tensor x) { return diagonal(x); });
  all["gather"] = [](Tape& tape, Operands t) { return gather(t[0], 0, ids(tape, {3}, {1, 2, 1})); };
  all["index_select"] = [](Tape& tape, Operands t) { return index_select(t[0], 0, ids(tape, {3}, {1, 2, 1})); };
  all["scatter_add"] = [](Tape& tape, Operands t) { return scatter_add(t[0], 0, ids(tape, {2}, {1, 1}), t[1]); };
  all["embedding"] = [](Tape& tape, Operands t) { return embedding(ids(tape, {1, 2}, {1, 1}), t[0]); };
  // Ops of several tensors.
  const auto two = [&](const std::string& name, auto f) { all[name] = [f](Tape&, Operands t) { return f(t[0], t[1]); }; };
  two("add", [](Tensor a, Tensor b) { return add(a, b); });
  two("subtract", [](Tensor a, Tensor b) { return subtract(a, b); });
  two("multiply", [](Tensor a, Tensor b) { return multiply(a, b); });
  two("divide", [](Tensor a, Tensor b) { return divide(a, b); });
  two("maximum", [](Tensor a, Tensor b) { return maximum(a, b); });
  two("minimum", [](Tensor a, Tensor b) { return minimum(a, b); });
  two("power", [](Tensor a, Tensor b) { return power(a, b); });
  two("mse_loss", [](Tensor x, Tensor t) { return mse_loss(x, t, Reduction::none); });
  two("huber_loss", [](Tensor x, Tensor t) { return huber_loss(x, t, 0.5, Reduction::none); });
  two("binary_cross_entropy", [](Tensor x, Tensor t) { return binary_cross_entropy(x, t, Reduction::none); });
  two("kl_divergence", [](Tensor x, Tensor t) { return kl_divergence(x, t, Reduction::none); });
  two("matmul", [](Tensor a, Tensor b) { return matmul(a, b); });
  two("outer product", [](Tensor a, Tensor b) { return einsum("a,b->ab", a, b); });
  two("relu and linear", [](Tensor x, Tensor w) { return activated_linear({Activation::relu, false}, x, w); });
  two("conv1d", [](Tensor x, Tensor w) { return conv1d(x, w); });
  two("conv2d", [](Tensor x, Tensor w) { return conv2d(x, w); });
  two("conv1d padded", [](Tensor x, Tensor w) { return conv1d(x, w, {}, {.padding = 1}); });
  two("conv2d padded", [](Tensor x, Tensor w) { return conv2d(x, w, {}, {.padding = {0, 1}}); });
  two("rms_norm", [](Tensor x, Tensor gamma) { return rms_norm(x, gamma, {.eps = 0.25}); });
  two("rms_norm of eps 0", [](Tensor x, Tensor gamma) { return rms_norm(x, gamma, {.eps = 0}); });
  two("layer_norm of eps 0", [](Tensor x, Tensor gamma) { return layer_norm(x, gamma, {}, {.eps = 0}); });
  all["layer_norm"] = [](Tape&, Operands t) { return layer_norm(t[0], t[1], t[2], {.eps = 0.25}); };
  all["linear"] = [](Tape&, Operands t) { return linear(t[0], t[1], t[2]); };
  all["weighted_sum"] = [](Tape&, Operands t) { return weighted_sum(t[0], t[1], t[2], t[3]); };
  all["attention of no key"] = attention_of(0);
  all["attention of the first key"] = attention_of(1);
  all["attention of all keys"] = attention_of(2);
  all["cross_entropy"] = cross_entropy_of({0});
  all["cross_entropy smoothed"] = cross_entropy_of({0}, 0.5);
  all["cross_entropy of a class of weight 0"] = cross_entropy_of({0}, 0, {0, 1, 2});
  all["cross_entropy beside a class of weight 0"] = cross_entropy_of({0, 1}, 0, {0, 1, 2});
  all["cross_entropy of an ignored target"] = cross_entropy_of({-100});
  all["cross_entropy beside an ignored target"] = cross_entropy_of({-100, 1});
  return all;
}

/// A number of y, or of a gradient, that is not PyTorch's.
struct Found {
  std::string name;
  std::vector<double> x;     // the operands' numbers that it belongs to
  std::optional<double> dy;  // of a gradient, if one number of dy belongs to it
  bool of_gradient;
  double torch, here;

  /// Whether a product of 0 and of infinity or NaN is 0 instead of NaN.
  bool drops_nan() const { return std::isnan(torch) && here == 0; }
  bool is_one_of(const std::set<std::string>& names) const { return names.contains(name); }
  bool begins(const char* text) const { return name.starts_with(text); }
  bool has_nan() const {
    return std::ranges::any_of(x, [](double number) { return std::isnan(number); });
  }
  bool has_infinity() const {
    return std::ranges::any_of(x, [](double number) { return std::isinf(number); });
  }
};

/// A row of the table in docs/OPS.md.
struct Difference {
  const char* row;
  bool (*explains)(const Found&);
};
constexpr Difference kDifferences[] = {
    {"0 times infinity or NaN in a gradient",
     [](const Found& f) {
       if (!f.of_gradient || !std::isnan(f.torch) || f.begins("attention")) {
         return false;
       }
       // In these the gradient has several factors, and one that is not dy may be 0.
       const bool is_sum = f.is_one_of({"softmax", "log_softmax", "x log x where x > 0"});
       const bool is_product = f.is_one_of({"square root where x > 0", "gated gelu", "gated silu"});
       const bool is_special = f.dy && (*f.dy == 0 || !std::isfinite(*f.dy));
       return is_sum || (f.here == 0 && (is_product || is_special)) || (f.dy && std::isinf(*f.dy));
     }},
    {"equal numbers of maximum and minimum",
     [](const Found& f) { return f.of_gradient && f.is_one_of({"maximum", "minimum"}) && f.x[0] == f.x[1]; }},
    {"NaN in maximum and minimum", [](const Found& f) { return f.of_gradient && f.is_one_of({"maximum", "minimum"}) && f.has_nan(); }},
    {"max and min over all or several axes",
     [](const Found& f) { return f.of_gradient && f.is_one_of({"max of all", "min of all", "max of two axes", "min of two axes"}); }},
    {"clamp at NaN",
     [](const Found& f) {
       return f.of_gradient && f.has_nan() && f.is_one_of({"clamp", "maximum of a number", "minimum of a number", "square root of clamp"});
     }},
    {"relu at NaN", [](const Found& f) { return f.of_gradient && f.has_nan() && f.here == 0 && f.is_one_of({"relu", "gated relu"}); }},
    {"gelu and silu at infinities",
     [](const Found& f) {
       return std::isnan(f.torch) && !std::isnan(f.here) && std::isinf(f.x[0]) && f.is_one_of({"gelu", "silu", "gated gelu", "gated silu"});
     }},
    {"power of -0 and of -infinity to 0.5 and to -0.5",
     [](const Found& f) { return (f.x[0] == 0 || f.x[0] == -kInfinity) && f.is_one_of({"power 0.5", "power -0.5"}); }},
    {"power whose result is 0, by the exponent", [](const Found& f) { return f.of_gradient && f.drops_nan() && f.name == "power"; }},
    {"binary_cross_entropy of an infinite logit",
     [](const Found& f) { return !f.of_gradient && std::isnan(f.torch) && f.name == "binary_cross_entropy" && f.has_infinity(); }},
    {"kl_divergence of a target of 0", [](const Found& f) { return f.drops_nan() && f.name == "kl_divergence" && f.x[1] == 0; }},
    {"NaN in a sort from the largest", [](const Found& f) { return f.is_one_of({"sort descending", "topk"}); }},
    {"NaN in max_pool", [](const Found& f) { return f.of_gradient && f.begins("max_pool") && f.has_nan(); }},
    {"attention without a score above -infinity",
     [](const Found& f) { return f.drops_nan() && f.begins("attention") && (f.name.ends_with("no key") || f.has_infinity()); }},
    {"cross_entropy beside a target that does not count",
     [](const Found& f) { return std::isnan(f.torch) && !std::isnan(f.here) && f.begins("cross_entropy beside"); }},
    {"cross_entropy of no target that counts", [](const Found& f) { return f.drops_nan() && f.begins("cross_entropy of"); }},
};

double number_of(const nlohmann::json& number) { return number.is_string() ? std::stod(number.get<std::string>()) : number.get<double>(); }
std::vector<double> numbers_of(const nlohmann::json& list) {
  std::vector<double> numbers;
  std::ranges::transform(list, std::back_inserter(numbers), number_of);
  return numbers;
}
Shape shape_of(const std::vector<index>& e) {
  switch (e.size()) {
    case 1: return {e[0]};
    case 2: return {e[0], e[1]};
    case 3: return {e[0], e[1], e[2]};
    default: return {e.at(0), e.at(1), e.at(2), e.at(3)};
  }
}

template <class T>
bool is_near(double found, double expected) {
  constexpr double kBound = std::is_same_v<T, double> ? 1e-10 : 1e-5;
  return std::isfinite(expected) ? std::abs(found - expected) <= kBound * std::max(1.0, std::abs(expected))
         : std::isnan(expected)  ? std::isnan(found)
                                 : found == expected;
}

/// The numbers of each operand that number i of `of` belongs to, if y has `rows` numbers.
std::vector<double> beside(const std::vector<std::vector<double>>& operands, std::size_t i, std::size_t of, std::size_t rows) {
  std::vector<double> all;
  for (const auto& operand : operands) {
    const bool is_divided = rows > 0 && of % rows == 0 && operand.size() % rows == 0;
    const std::size_t size = is_divided ? operand.size() / rows : operand.size();
    const auto begin = operand.begin() + static_cast<std::ptrdiff_t>(is_divided ? i / (of / rows) * size : 0);
    all.insert(all.end(), begin, begin + static_cast<std::ptrdiff_t>(size));
  }
  return all;
}

/// Runs a call of the fixture, with each of its gradients of y. Returns the numbers that differ.
template <class T>
std::vector<Found> differences(const nlohmann::json& call, const Function& f) {
  std::vector<std::vector<double>> operands;
  std::ranges::transform(call["operands"], std::back_inserter(operands), numbers_of);
  const std::vector<double> y = numbers_of(call["y"]);
  std::vector<Found> all;
  const auto compare = [&](const T* found, const std::vector<double>& expected, const std::vector<double>* dy) {
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const double here = found == nullptr ? 0 : static_cast<double>(found[i]);
      if (!is_near<T>(here, expected[i])) {
        std::optional<double> its_dy;
        if (dy != nullptr && expected.size() % dy->size() == 0) {
          its_dy = (*dy)[i / (expected.size() / dy->size())];
        } else if (dy != nullptr && std::ranges::all_of(*dy, [&](double number) { return number == dy->front(); })) {
          its_dy = dy->front();
        }
        all.push_back({call["name"], beside(operands, i, expected.size(), y.size()), its_dy, dy != nullptr, expected[i], here});
      }
    }
  };
  for (std::size_t run = 0; run <= call["dy"].size(); ++run) {
    Tape tape;
    std::vector<Tensor> t;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      t.push_back(tape.input<T>(shape_of(call["shapes"][i]), std::vector<T>(operands[i].begin(), operands[i].end()), true));
    }
    const Tensor result = f(tape, t);
    EXPECT_EQ(result.size(), std::ssize(y)) << call["name"];
    if (result.size() != std::ssize(y)) {
      return all;
    }
    if (run == 0) {
      compare(result.data<T>(), y, nullptr);
      continue;
    }
    const nlohmann::json& given = call["dy"][run - 1];
    const std::vector<double> dy = given.is_array() ? numbers_of(given) : std::vector<double>(y.size(), number_of(given));
    tape.backward(result, tape.input<T>(result.shape(), std::vector<T>(dy.begin(), dy.end())));
    for (std::size_t i = 0; i < operands.size(); ++i) {
      compare(tape.gradient<T>(t[i]), numbers_of(call["gradients"][run - 1][i]), &dy);
    }
  }
  return all;
}

template <class T>
class GoldenEdges : public ::testing::Test {};

TYPED_TEST_SUITE(GoldenEdges, FloatTypes, FloatTypeName);

TYPED_TEST(GoldenEdges, DifferFromPyTorchOnlyAsTheTableSays) {
  const auto all = functions();
  std::set<std::string> unseen, rows;
  for (const auto& [name, f] : all) {
    unseen.insert(name);
  }
  for (const nlohmann::json& call : nlohmann::json::parse(std::ifstream(DIKKAT_SOURCE_DIR "/tests/golden/edges.json"))) {
    const std::string name = call["name"];
    ASSERT_TRUE(all.contains(name)) << name;
    unseen.erase(name);
    for (const Found& found : differences<TypeParam>(call, all.at(name))) {
      const auto* const row = std::ranges::find_if(kDifferences, [&](const Difference& difference) { return difference.explains(found); });
      if (row != std::end(kDifferences)) {
        rows.insert(row->row);
      }
      EXPECT_NE(row, std::end(kDifferences)) << name << (found.of_gradient ? ", gradient" : ", y") << " at "
                                             << testing::PrintToString(found.x) << ", dy " << found.dy.value_or(0) << ": PyTorch has "
                                             << found.torch << ", here " << found.here;
    }
  }
  EXPECT_TRUE(unseen.empty()) << "not in the fixture: " << testing::PrintToString(unseen);
  for (const Difference& difference : kDifferences) {
    EXPECT_TRUE(rows.contains(difference.row)) << "no difference any more: " << difference.row;
  }
}

}  // namespace
}  // namespace dikkat::edges_test
