// Compares twenty steps of Muon with plain PyTorch's float64 results (make_muon_fixture.py).

#include "optim/muon.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/golden/compare.h"
#include "tests/golden/fixture.h"

namespace dikkat::muon_test {
namespace {

template <class T>
class MuonGolden : public ::testing::Test {};
TYPED_TEST_SUITE(MuonGolden, FloatTypes, FloatTypeName);

TYPED_TEST(MuonGolden, TwentySteps) {
  using T = TypeParam;
  const double tolerance = std::is_same_v<T, double> ? 1e-12 : 1e-5;
  const Fixture fixture(golden("muon.h5"));
  // Make the parameters with PyTorch's first values.
  ParameterStore store(kDType<T>);
  for (const std::string& name : fixture.names("first")) {
    const std::vector<index> extents = fixture.shape("first/" + name);
    const Shape shape = extents.size() == 1 ? Shape{extents[0]} : Shape{extents[0], extents[1]};
    const bool is_matrix = name != "embedding" && name != "bias";
    store.add(name, shape, Init::zeros(), name == "bias" ? Decay::no : Decay::yes,
              is_matrix             ? Role::hidden
              : name == "embedding" ? Role::embedding
                                    : Role::vector,
              name == "qkv" ? std::vector<index>{8, 8, 8} : std::vector<index>{});
  }
  store.allocate(0);
  for (ParameterStore::Entry* entry : store.entries()) {
    const auto values = fixture.read("first/" + entry->path);
    std::copy(values.begin(), values.end(), static_cast<T*>(entry->record.data));
  }
  // Take the steps with PyTorch's gradients.
  Muon muon(store,
            {.momentum = 0.95,
             .adamw = {.beta1 = fixture.attribute("beta1"), .beta2 = fixture.attribute("beta2"), .weight_decay = fixture.attribute("wd")}});
  for (index step = 1; step <= 20; ++step) {
    for (ParameterStore::Entry* entry : store.entries()) {
      const auto all = fixture.read("gradients/" + entry->path);
      const auto first = all.begin() + (step - 1) * entry->size();
      std::copy(first, first + entry->size(), static_cast<T*>(entry->gradient.data));
      entry->gradient.written = true;
    }
    muon.step(step, fixture.attribute("lr") / static_cast<double>(step));
  }
  // Compare weights and momentum.
  const auto values_at = [](const T* at, index count) { return std::vector<double>(at, at + count); };
  for (const ParameterStore::Entry* entry : store.entries()) {
    EXPECT_LT(error_of(values_at(store.weights<T>() + entry->offset, entry->size()), fixture.read("last/" + entry->path)), tolerance)
        << entry->path;
  }
  const StateSlab& momentum = *muon.state().front();
  ASSERT_EQ(momentum.name, "momentum");
  ASSERT_EQ(momentum.parts.size(), 4U);
  for (const StateSlab::Part& part : momentum.parts) {
    EXPECT_LT(
        error_of(values_at(momentum.data<T>() + part.offset, part.parameter->size()), fixture.read("momentum/" + part.parameter->path)),
        tolerance)
        << part.parameter->path;
  }
}

}  // namespace
}  // namespace dikkat::muon_test
