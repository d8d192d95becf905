// The worked attention examples of the course's document 004 (make_documents_fixture.py), by the op that training uses.

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/ops/attention.h"
#include "autograd/ops/linear.h"
#include "autograd/tape/tape.h"
#include "tests/golden/compare.h"
#include "tests/golden/fixture.h"

namespace dikkat::documents_test {
namespace {

template <class T>
class GoldenDocuments : public ::testing::Test {
 protected:
  static constexpr bool kDouble = std::is_same_v<T, double>;

  Tensor tensor(const std::string& name) {
    const std::vector<double> values = fixture_.read(name);
    const std::vector<index> e = fixture_.shape(name);
    const Shape shape = e.size() == 1 ? Shape{e[0]} : Shape{e.at(0), e.at(1)};
    return tape_.input<T>(shape, std::vector<T>(values.begin(), values.end()));
  }

  /// A module of the document on its sentence: (1, 6, 2).
  Tensor attend(const std::string& module, const AttentionOptions& options) {
    const Tensor sentence = tape_.view(tensor("sentence"), {1, 6, 3});
    const auto projected = [&](const char* weight) { return HeadColumns{linear(sentence, tensor(module + weight))}; };
    return attention(projected("/w_query"), projected("/w_key"), projected("/w_value"), options);
  }

  void expect_result(const std::string& module, Tensor y) const {
    const std::vector<double> values(y.data<T>(), y.data<T>() + y.size());
    EXPECT_LE(error_of(values, fixture_.read(module + "/y")), kDouble ? 1e-14 : 1e-6) << module;
    EXPECT_LE(error_of(values, fixture_.read(module + "/y_float32")), 1e-6) << module;
  }

  Fixture fixture_{golden("documents.h5")};
  Tape tape_{Recording::off};
};

TYPED_TEST_SUITE(GoldenDocuments, FloatTypes, FloatTypeName);

TYPED_TEST(GoldenDocuments, SelfAttention) { this->expect_result("self_attention", this->attend("self_attention", {.head_size = 2})); }

TYPED_TEST(GoldenDocuments, CausalAttention) {
  this->expect_result("causal_attention", this->attend("causal_attention", {.head_size = 2, .causal = true}));
}

TYPED_TEST(GoldenDocuments, MultiHeadAttention) {
  const std::string module = "multi_head_attention";
  const Tensor heads = this->attend(module, {.heads = 2, .head_size = 1, .causal = true});
  this->expect_result(module, linear(heads, this->tensor(module + "/out_proj"), this->tensor(module + "/out_bias")));
}

TYPED_TEST(GoldenDocuments, ContextVectorOfShiny) {
  using T = TypeParam;
  const Tensor words = this->tape_.view(this->tensor("shiny/embeddings"), {1, 3, 3});
  const Tensor y = attention({words}, {words}, {words}, {.head_size = 3, .scale = 1.0});
  const std::vector<double> shiny(y.data<T>() + 3, y.data<T>() + 6);
  EXPECT_LE(error_of(shiny, this->fixture_.read("shiny/context")), TestFixture::kDouble ? 4 * 0x1p-53 : 4 * 0x1p-24);
}

// The document prints [0.3992 0.3858 0.8610]. Five of its nine terms are wrong in the fourth decimal, but the third sum is right all the
// same.
TEST(GoldenDocument004, PrintsTermsThatAreNotQuiteExact) {
  const Fixture fixture(golden("documents.h5"));
  const auto difference = [&](const std::string& what) {
    const std::vector<double> exact = fixture.read("shiny/" + what);
    std::vector<double> d = fixture.read("shiny/document_" + what);
    for (std::size_t i = 0; i < d.size(); ++i) {
      d[i] -= exact[i];
    }
    return d;
  };
  const std::vector<double> context = difference("context");
  EXPECT_NEAR(context.at(0), 2.398e-4, 5e-8);
  EXPECT_NEAR(context.at(1), 3.757e-4, 5e-8);
  EXPECT_NEAR(context.at(2), 4.886e-5, 5e-9);
  std::vector<std::size_t> wrong;
  const std::vector<double> terms = difference("terms");
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (std::abs(terms[i]) > 0.5e-4) {
      wrong.push_back(i);
    }
  }
  EXPECT_EQ(wrong, (std::vector<std::size_t>{3, 4, 5, 7, 8}));  // all of "shiny", two of "sun"
}

}  // namespace
}  // namespace dikkat::documents_test
