#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"
#include "tests/support/throws.h"
#include "train/exchange/export_model.h"
#include "train/exchange/formats/convert.h"
#include "train/exchange/formats/gguf_writer.h"
#include "train/exchange/gguf_model.h"
#include "train/exchange/model_files.h"
#include "train/model/language_model.h"
#include "train/text/byte_tokenizer.h"

// Values of a GGUF file that change the model's computation are honored or refused, as config.json's are.
namespace dikkat {
namespace {

using testing::error_of;

constexpr TransformerConfig kLlama{.n_layer = 1,
                                   .n_head = 2,
                                   .n_embd = 16,
                                   .block_size = 20,
                                   .vocab_size = 256,
                                   .bias = false,
                                   .positions = Positions::rope,
                                   .norm = NormKind::rms_norm,
                                   .activation = Activation::silu,
                                   .gated = true};

class GgufKeys : public ::testing::Test {
 protected:
  explicit GgufKeys(const TransformerConfig& config = kLlama) {
    LanguageModel model(config, 256);
    model.parameters().allocate(1);
    export_model({model.config(), model.parameters(), ByteTokenizer()}, to_ / "whole.gguf", {.format = ExportFormat::gguf});
  }

  /// The file with this value, or without the key if the value is empty.
  WeightFile with(const std::string& key, const MetaValue& value) {
    const WeightFile whole = open_weights(to_ / "whole.gguf");
    std::vector<MetaEntry> metadata;
    for (const MetaEntry& entry : whole.metadata()) {
      if (entry.key != key) {
        metadata.push_back(entry);
      }
    }
    if (value.type() != MetaType::none) {
      metadata.push_back({key, value});
    }
    std::vector<NewTensor> tensors;
    for (const WeightTensor& tensor : whole.tensors()) {
      tensors.push_back(
          {.name = tensor.name, .type = tensor.type, .shape = tensor.shape, .values = [&tensor](index first, index count, float* out) {
             read_f32(tensor, first, count, out);
           }});
    }
    const std::string path = to_ / concat("changed-", ++files_, ".gguf");
    write_gguf(path, metadata, tensors);
    return open_weights(path);
  }
  ForeignConfig config_with(const std::string& key, const MetaValue& value) { return read_gguf_config(with(key, value)); }
  void expect_refused(const std::string& key, const MetaValue& value) {
    const std::string error = error_of([&] { config_with(key, value); });
    EXPECT_TRUE(testing::names(error, {key, value.text()}));
  }

 private:
  TemporaryFolder to_;
  int files_ = 0;
};

TEST_F(GgufKeys, ThatThisProgramCannotComputeAreRefused) {
  EXPECT_EQ(error_of([&] { config_with("llama.rope.dimension_count", MetaValue(8U)); }), "");
  expect_refused("llama.rope.dimension_count", MetaValue(4U));
  expect_refused("llama.attention.value_length", MetaValue(4U));
  expect_refused("llama.vocab_size", MetaValue(255U));
  expect_refused("llama.attention.causal", MetaValue(false));
  expect_refused("llama.attention.sliding_window", MetaValue(16U));
  expect_refused("llama.rope.scaling.attn_factor", MetaValue(0.5F));
  expect_refused("llama.rope.scaling.type", MetaValue("yarn"));
  expect_refused("split.count", MetaValue(std::uint16_t{2}));
  expect_refused("general.type", MetaValue("adapter"));
}

TEST_F(GgufKeys, OfTheArchitectureThatAreNotKnownAreRefusedUnlessTheyHaveNoEffect) {
  expect_refused("llama.residual_scale", MetaValue(0.22F));
  expect_refused("llama.expert_count", MetaValue(8U));
  EXPECT_NO_THROW(config_with("llama.expert_count", MetaValue(0U)));
  EXPECT_NO_THROW(config_with("llama.tensor_data_layout", MetaValue("Meta AI original pth")));
  EXPECT_NO_THROW(config_with("general.license", MetaValue("mit")));
}

TEST_F(GgufKeys, ScaleRopeAsLlamaCppDoes) {
  EXPECT_EQ(config_with("x", MetaValue()).model.rope_scaling, RopeScaling::none);
  for (const char* key : {"llama.rope.scaling.factor", "llama.rope.scale_linear"}) {
    const TransformerConfig scaled = config_with(key, MetaValue(4.0F)).model;
    EXPECT_EQ(scaled.rope_scaling, RopeScaling::linear) << key;
    EXPECT_EQ(scaled.rope_factor, 4) << key;
  }
  expect_refused("llama.rope.scaling.factor", MetaValue("four"));
  EXPECT_EQ(config_with("llama.rope.scaling.factor", MetaValue(0.0F)).model.rope_scaling, RopeScaling::none);
  EXPECT_EQ(config_with("llama.rope.scaling.type", MetaValue("none")).model.rope_scaling, RopeScaling::none);
  EXPECT_NE(error_of([&] { config_with("llama.rope.scaling.type", MetaValue("linear")); }).find("has no llama.rope.scaling.factor"),
            std::string::npos);
}

/// A Phi-3 with LongRoPE: 3 of 4 pairs of a head rotate, and 20 positions become 80.
class GgufKeysOfPhi3 : public GgufKeys {
 protected:
  GgufKeysOfPhi3() : GgufKeys(model()) {}

  static TransformerConfig model() {
    TransformerConfig c = kLlama;
    c.rope_share = 0.75;
    c.rope_scaling = RopeScaling::longrope;
    c.rope_factor = 4;
    c.rope_original_context = 20;
    c.rope_short_factors = {1, 1.5, 2.25};
    c.rope_long_factors = {1.25, 4, 8};
    return c;
  }
};

TEST_F(GgufKeysOfPhi3, DescribeLongRope) {
  const ForeignConfig read = config_with("x", MetaValue());
  EXPECT_EQ(read.model.rope_scaling, RopeScaling::longrope);
  EXPECT_EQ(read.model.rope_factor, 4);
  EXPECT_EQ(read.model.rope_original_context, 20);
  EXPECT_EQ(read.model.block_size, 20);
  EXPECT_EQ(read.model.rope_share, 0.75);
  EXPECT_EQ(read.model.rope_short_factors, model().rope_short_factors);
  EXPECT_EQ(read.model.rope_long_factors, model().rope_long_factors);
  EXPECT_NEAR(*read.model.rope_amplitude, std::sqrt(1 + std::log(4) / std::log(20)), 1e-15);
  EXPECT_FALSE(read.model.rope_amplitude.is_set());
  ASSERT_EQ(read.notes.size(), 1U);
  EXPECT_TRUE(testing::names(read.notes.front(), {"80", "20"}));
  EXPECT_EQ(config_with("phi3.rope.scaling.attn_factor", MetaValue(1.25F)).model.rope_amplitude, 1.25);
  EXPECT_EQ(config_with("phi3.rope.scaling.attn_factor", MetaValue()).model.rope_amplitude, 1) << "as llama.cpp takes it";
  EXPECT_EQ(config_with("phi3.context_length", MetaValue(16U)).model.block_size, 16);
  EXPECT_EQ(config_with("phi3.context_length", MetaValue(16U)).model.rope_amplitude,
            std::stod(concat(static_cast<float>(*read.model.rope_amplitude))))
      << "the file's own, which does not follow from these contexts";
}

TEST_F(GgufKeysOfPhi3, ThatThisProgramCannotComputeAreRefused) {
  for (const std::uint32_t rows : {0U, 5U, 10U}) {
    expect_refused("phi3.rope.dimension_count", MetaValue(rows));
  }
  EXPECT_TRUE(
      testing::names(error_of([&] { config_with("phi3.rope.dimension_count", MetaValue(8U)); }), {"rope_factors_short.weight", "3", "4"}));
  EXPECT_TRUE(testing::names(error_of([&] { config_with("phi3.rope.scaling.original_context_length", MetaValue()); }),
                             {"no phi3.rope.scaling.original_context_length"}));
  EXPECT_TRUE(testing::names(error_of([&] { config_with("phi3.rope.scaling.factor", MetaValue(2.0F)); }), {"phi3.rope.scaling.factor"}));
  expect_refused("phi3.rope.scaling.type", MetaValue("yarn"));
  // A window that no text fills is none. llama.cpp ignores every other one, and does not compute the model.
  EXPECT_EQ(config_with("phi3.attention.sliding_window", MetaValue(262144U)).model.window, 0);
  EXPECT_EQ(config_with("phi3.attention.sliding_window", MetaValue(7U)).model.window, 7);
}

// llama.cpp cannot load a file whose name says Phi-3 without Phi-3's special tokens.
TEST(GgufName, SaysPhi3OnlyWithItsTokens) {
  const TemporaryFolder to;
  LanguageModel model(kLlama, 256);
  model.parameters().allocate(1);
  export_model({model.config(), model.parameters(), ByteTokenizer()}, to / "named.gguf",
               {.format = ExportFormat::gguf, .name = "my-Phi3 and PHI-3, phi-2"});
  EXPECT_EQ(open_weights(to / "named.gguf").value("general.name")->string(), "my-Phi_3 and PHI_3, phi-2");
}

}  // namespace
}  // namespace dikkat
