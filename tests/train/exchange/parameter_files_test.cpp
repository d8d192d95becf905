#include "train/exchange/parameter_files.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/compare.h"
#include "tests/support/temporary_folder.h"
#include "train/exchange/formats/safetensors.h"

namespace dikkat {
namespace {

using testing::error_of;
using testing::names;
using testing::same_bits;

struct Model {
  ParameterStore parameters;

  explicit Model(std::uint64_t seed, index width = 6) {
    parameters.add("conv.weight", {4, 2, 3, 3}, Init::normal(0.3), Decay::yes, Role::hidden);
    parameters.add("conv.bias", {4}, Init::normal(0.1), Decay::no, Role::vector);
    parameters.add("head.weight", {width, 4}, Init::normal(0.3), Decay::yes, Role::head);
    parameters.add("scale", {}, Init::normal(1), Decay::no, Role::vector);
    parameters.add("running_mean", {4}, Init::normal(1), Decay::no, Role::vector);
    parameters.freeze("running_mean");
    parameters.allocate(seed);
  }
  std::vector<float> weights() const { return {parameters.weights<float>(), parameters.weights<float>() + parameters.slab_size()}; }
};

TEST(ParameterFiles, GiveBackEveryBit) {
  const TemporaryFolder folder;
  const Model model(1);
  Model other(2);
  save_safetensors(folder / "mine.safetensors", model.parameters);
  load_safetensors(folder / "mine.safetensors", other.parameters);
  EXPECT_TRUE(same_bits(other.weights(), model.weights()));
  const WeightFile file = open_safetensors(folder.path("mine.safetensors"));
  EXPECT_EQ(file.tensors().size(), 5U);
  EXPECT_EQ(file.find("conv.weight")->shape, (std::vector<index>{4, 2, 3, 3}));
  EXPECT_EQ(file.find("scale")->shape, std::vector<index>{});
  save_safetensors(folder / "mine.safetensors", Model(3).parameters);  // replaces the file
  load_safetensors(folder / "mine.safetensors", other.parameters);
  EXPECT_TRUE(same_bits(other.weights(), Model(3).weights()));
}

TEST(ParameterFiles, RoundToOtherTypes) {
  const TemporaryFolder folder;
  const Model model(1);
  for (const auto& [type, error] :
       {std::pair(WeightType::f16, 0x1p-11), std::pair(WeightType::bf16, 0x1p-8), std::pair(WeightType::f64, 0.0)}) {
    Model other(2);
    save_safetensors(folder / "mine.safetensors", model.parameters, type);
    load_safetensors(folder / "mine.safetensors", other.parameters);
    const std::vector<float> found = other.weights(), expected = model.weights();
    bool equal = true;
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_LE(std::abs(found[i] - expected[i]), error * std::abs(static_cast<double>(expected[i])) + 1e-7 * (error > 0 ? 1 : 0))
          << name_of(type);
      equal = equal && found[i] == expected[i];
    }
    EXPECT_EQ(equal, type == WeightType::f64);
  }
}

TEST(ParameterFiles, ThatDoNotFitChangeNothing) {
  const TemporaryFolder folder;
  Model model(1);
  const std::vector<float> before = model.weights();
  const auto refusal = [&] { return error_of<InputError>([&] { load_safetensors(folder / "x.safetensors", model.parameters); }); };
  save_safetensors(folder / "x.safetensors", Model(2, 7).parameters);
  EXPECT_TRUE(names(refusal(), {"x.safetensors", "head.weight", "[7, 4]", "[6, 4]"}));
  const std::vector<float> ones(72, 1);
  write_safetensors(folder.path("x.safetensors"), {new_tensor("conv.weight", WeightType::f32, {4, 2, 3, 3}, ones.data()),
                                                   new_tensor("more", WeightType::f32, {5}, ones.data())});
  EXPECT_TRUE(names(refusal(), {"lacks conv.bias [4]", "lacks scale []", "more", "[5]"}));
  folder.write("x.safetensors", "nothing of the kind");
  EXPECT_TRUE(names(refusal(), {"x.safetensors"}));
  EXPECT_TRUE(same_bits(model.weights(), before));
}

TEST(ParameterFiles, OfOtherStoresAreRefused) {
  const TemporaryFolder folder;
  ParameterStore wide(DType::f64), empty;
  wide.add("w", {3}, Init::ones(), Decay::no, Role::vector);
  empty.add("w", {3}, Init::ones(), Decay::no, Role::vector);
  wide.allocate(1);
  EXPECT_TRUE(names(error_of([&] { save_safetensors(folder / "x", wide); }), {"save_safetensors", "f64", "f32"}));
  EXPECT_TRUE(names(error_of([&] { load_safetensors(folder / "x", empty); }), {"load_safetensors", "w", "allocate()"}));
  EXPECT_TRUE(names(error_of([&] { save_safetensors(folder / "x", Model(1).parameters, WeightType::q8_0); }), {"q8_0", "bf16"}));
}

}  // namespace
}  // namespace dikkat
