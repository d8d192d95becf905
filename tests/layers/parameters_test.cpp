// Tests the names, shapes and number of a model's parameters.

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "optim/muon.h"
#include "tests/layers/tiny_gpt.h"

namespace dikkat {
namespace {

using testing::names;

constexpr TransformerConfig kGpt2{.n_layer = 12, .n_head = 12, .n_embd = 768, .block_size = 1024, .vocab_size = 50257};

index count_of(const TransformerConfig& config) {
  const std::int64_t pages = Pages::requests();
  ParameterStore store;
  const Gpt gpt(Scope(store), config);
  EXPECT_EQ(Pages::requests(), pages);  // a model that is only counted takes no memory
  return store.parameter_count();
}

TEST(GptParameters, AreAsManyAsThoseOfGpt2) { EXPECT_EQ(count_of(kGpt2), 124'439'808); }

TEST(GptParameters, WithAHeadOfItsOwnAndNoBiasOnQueryKeyAndValue) {
  TransformerConfig config = kGpt2;
  config.tie_embeddings = false;
  config.qkv_bias = false;
  EXPECT_EQ(count_of(config), 163'009'536);
}

using Shapes = std::map<std::string, Shape>;

Shapes shapes_of(const TransformerConfig& config) {
  TinyGpt model(config);
  Shapes shapes;
  for (const ParameterStore::Entry* entry : model.store.entries()) {
    shapes.emplace(entry->path, entry->shape());
  }
  return shapes;
}

constexpr TransformerConfig kTiny{.n_layer = 2, .n_head = 2, .n_embd = 6, .block_size = 5, .vocab_size = 11};

Shapes expected_shapes(bool bias, bool qkv_bias, bool tied) {
  Shapes shapes{{"wte.weight", {11, 6}}, {"wpe.weight", {5, 6}}, {"ln_f.weight", {6}}};
  if (!tied) {
    shapes["lm_head.weight"] = {11, 6};
  }
  if (bias) {
    shapes["ln_f.bias"] = {6};
  }
  for (const std::string h : {"h.0.", "h.1."}) {
    shapes[h + "ln_1.weight"] = {6};
    shapes[h + "attn.c_attn.weight"] = {18, 6};  // (out, in); rows q | k | v
    shapes[h + "attn.c_proj.weight"] = {6, 6};
    shapes[h + "ln_2.weight"] = {6};
    shapes[h + "mlp.c_fc.weight"] = {24, 6};
    shapes[h + "mlp.c_proj.weight"] = {6, 24};
    if (bias) {
      shapes[h + "ln_1.bias"] = {6};
      shapes[h + "attn.c_proj.bias"] = {6};
      shapes[h + "ln_2.bias"] = {6};
      shapes[h + "mlp.c_fc.bias"] = {24};
      shapes[h + "mlp.c_proj.bias"] = {6};
    }
    if (qkv_bias) {
      shapes[h + "attn.c_attn.bias"] = {18};
    }
  }
  return shapes;
}

TEST(GptParameters, AreNamedAndShapedAsUsual) {
  for (const bool bias : {true, false}) {
    for (const bool qkv_bias : {true, false}) {
      for (const bool tied : {true, false}) {
        TransformerConfig config = kTiny;
        config.bias = bias;
        config.qkv_bias = qkv_bias;
        config.tie_embeddings = tied;
        const Shapes shapes = shapes_of(config);
        const Shapes expected = expected_shapes(bias, qkv_bias, tied);
        EXPECT_TRUE(shapes == expected) << "bias " << bias << ", qkv_bias " << qkv_bias << ", tied " << tied;
        for (const auto& [path, shape] : expected) {
          EXPECT_TRUE(shapes.contains(path)) << path;
        }
      }
    }
  }
}

constexpr TransformerConfig kTinyLlama{.n_layer = 1,
                                       .n_head = 4,
                                       .n_kv_head = 2,
                                       .n_embd = 6,
                                       .head_size = 10,
                                       .block_size = 5,
                                       .vocab_size = 11,
                                       .bias = false,
                                       .qkv_bias = true,
                                       .positions = Positions::rope,
                                       .norm = NormKind::rms_norm,
                                       .qk_norm = true,
                                       .activation = Activation::silu,
                                       .gated = true};

TEST(LlamaParameters, AreNamedAndShapedAsTheirGroupsAndGatesWantThem) {
  const Shapes expected{
      {"wte.weight", {11, 6}},
      {"h.0.ln_1.weight", {6}},
      {"h.0.attn.c_attn.weight", {40 + 20 + 20, 6}},  // rows q | k | v
      {"h.0.attn.c_attn.bias", {80}},
      {"h.0.attn.q_norm.weight", {10}},
      {"h.0.attn.k_norm.weight", {10}},
      {"h.0.attn.c_proj.weight", {6, 40}},
      {"h.0.ln_2.weight", {6}},
      {"h.0.mlp.c_fc.weight", {2 * 64, 6}},  // rows gate | up; 8/3 of 6 in whole multiples of 64
      {"h.0.mlp.c_proj.weight", {6, 64}},
      {"ln_f.weight", {6}},
  };
  const Shapes found = shapes_of(kTinyLlama);
  for (const auto& [path, shape] : expected) {
    ASSERT_TRUE(found.contains(path)) << path;
    EXPECT_EQ(found.at(path), shape) << path;
  }
  EXPECT_EQ(found.size(), expected.size());
}

// A gate reads 12 channels, or all if there are fewer. Of three layers every other one has values, including the last.
TEST(NanochatParameters, AreNamedAndShapedAccordingToTheirKeys) {
  TransformerConfig config = kTinyLlama;
  config.n_layer = 3;
  config.embedding_norm = config.residual_scalars = true;
  config.value_embeddings = ValueEmbeddings::alternate;
  const Shapes plain = [&] {
    TransformerConfig c = kTinyLlama;
    c.n_layer = 3;
    return shapes_of(c);
  }();
  Shapes expected{{"ln_emb.weight", {6}}};
  for (const std::string h : {"h.0.", "h.1.", "h.2."}) {
    expected[h + "resid_lambda"] = expected[h + "x0_lambda"] = Shape{1};
    if (h != "h.1.") {
      expected[h + "attn.value_embedding.weight"] = Shape{11, 20};
      expected[h + "attn.value_gate.weight"] = Shape{2, 6};
    }
  }
  expected.insert(plain.begin(), plain.end());
  EXPECT_TRUE(shapes_of(config) == expected);
  config.value_embeddings = ValueEmbeddings::all;
  config.n_embd = 18;
  EXPECT_EQ(shapes_of(config).at("h.1.attn.value_gate.weight"), (Shape{2, 12}));
  config.n_layer = 2;
  config.value_embeddings = ValueEmbeddings::alternate;
  EXPECT_FALSE(shapes_of(config).contains("h.0.attn.value_gate.weight")) << "the last layer has them";
  EXPECT_TRUE(shapes_of(config).contains("h.1.attn.value_gate.weight"));
}

TEST(NanochatParameters, HaveTheirRoles) {
  TransformerConfig config = kTinyLlama;
  config.residual_scalars = true;
  config.value_embeddings = ValueEmbeddings::all;
  const TinyGpt model(config);
  const auto has = [&](const char* path, Role role, Decay decay) {
    const ParameterStore::Entry& entry = model.store.entry(path);
    EXPECT_TRUE(entry.role == role && entry.decay == decay) << path;
  };
  has("h.0.resid_lambda", Role::vector, Decay::no);
  has("h.0.x0_lambda", Role::vector, Decay::no);
  has("h.0.attn.value_embedding.weight", Role::embedding, Decay::yes);
  has("h.0.attn.value_gate.weight", Role::hidden, Decay::yes);
}

TEST(LlamaParameters, OfAnRmsNormHaveNoBias) {
  TransformerConfig config = kTinyLlama;
  config.bias = true;
  const Shapes shapes = shapes_of(config);
  EXPECT_FALSE(shapes.contains("h.0.ln_1.bias"));
  EXPECT_FALSE(shapes.contains("ln_f.bias"));
  EXPECT_TRUE(shapes.contains("h.0.mlp.c_fc.bias"));
  config.norm = NormKind::layer_norm;
  EXPECT_TRUE(shapes_of(config).contains("h.0.ln_1.bias"));
}

TEST(LlamaParameters, HaveTheirRolesAndParts) {
  TinyGpt model(kTinyLlama);
  using Parts = std::vector<index>;
  for (const ParameterStore::Entry* entry : model.store.entries()) {
    EXPECT_EQ(entry->decay == Decay::yes, entry->shape().rank() == 2) << entry->path;
    EXPECT_EQ(entry->role == Role::vector, entry->shape().rank() == 1) << entry->path;
    const Parts expected = entry->path == "h.0.attn.c_attn.weight" ? Parts{40, 20, 20}
                           : entry->path == "h.0.mlp.c_fc.weight"  ? Parts{64, 64}
                                                                   : Parts{};
    EXPECT_EQ(entry->row_parts, expected) << entry->path;
  }
}

// The matrices with whole units are q, k and v of unequal rows, the projection, gate, up and down.
TEST(LlamaParameters, AreSplitByMuon) {
  TinyGpt model(kTinyLlama);
  const Muon muon(model.store, {});
  const auto units_of = [&](const char* path) {
    const ParameterStore::Entry& entry = model.store.entry(path);
    std::vector<index> rows;
    index at = entry.offset;
    for (const Unit& unit : muon.units()) {
      if (unit.whole && entry.offset <= unit.begin && unit.begin < entry.offset + entry.size()) {
        EXPECT_EQ(unit.begin, at) << path;
        at = unit.end;
        rows.push_back((unit.end - unit.begin) / entry.shape()[1]);
      }
    }
    EXPECT_EQ(at, entry.offset + entry.size()) << path;
    return rows;
  };
  EXPECT_EQ(units_of("h.0.attn.c_attn.weight"), (std::vector<index>{40, 20, 20}));
  EXPECT_EQ(units_of("h.0.attn.c_proj.weight"), (std::vector<index>{6}));
  EXPECT_EQ(units_of("h.0.mlp.c_fc.weight"), (std::vector<index>{64, 64}));
  EXPECT_EQ(units_of("h.0.mlp.c_proj.weight"), (std::vector<index>{6}));
}

TEST(GptParameters, DecayOnlyWithTwoDimensions) {
  TinyGpt model(kTiny);
  for (const ParameterStore::Entry* entry : model.store.entries()) {
    EXPECT_EQ(entry->decay == Decay::yes, entry->shape().rank() == 2) << entry->path;
  }
}

TEST(GptParameters, HaveTheirRoles) {
  TransformerConfig config = kTiny;
  config.tie_embeddings = false;
  TinyGpt model(config);
  for (const ParameterStore::Entry* entry : model.store.entries()) {
    const Role expected = entry->shape().rank() == 1                                                   ? Role::vector
                          : entry->path.ends_with("wte.weight") || entry->path.ends_with("wpe.weight") ? Role::embedding
                          : entry->path == "lm_head.weight"                                            ? Role::head
                                                                                                       : Role::hidden;
    EXPECT_EQ(entry->role, expected) << entry->path;
    const index width = config.n_embd;
    const bool is_qkv = entry->path.ends_with("c_attn.weight");
    EXPECT_EQ(entry->row_parts, is_qkv ? std::vector({width, width, width}) : std::vector<index>{}) << entry->path;
  }
}

TEST(GptParameters, ScaleResidualProjectionsByTheDepth) {
  TransformerConfig config = kTiny;
  config.n_layer = 8;
  TinyGpt model(config);
  for (const ParameterStore::Entry* entry : model.store.entries()) {
    if (entry->shape().rank() == 2) {
      EXPECT_DOUBLE_EQ(entry->init.std, entry->path.ends_with("c_proj.weight") ? 0.02 / 4 : 0.02) << entry->path;
    }
  }
}

TEST(GptParameters, CannotBeNamedTwice) {
  ParameterStore store;
  const Scope scope(store);
  const Gpt gpt(scope, kTiny);
  EXPECT_TRUE(names(testing::error_of([&] { Gpt(scope, kTiny); }), {"'wte.weight'", "exists"}));
  EXPECT_NO_THROW(Gpt(scope / "other", kTiny));
}

TEST(TransformerConfigCheck, RefusesImpossibleModels) {
  const auto refusal = [](auto change) {
    TransformerConfig config = kTiny;
    change(config);
    ParameterStore store;
    return testing::error_of([&] { Gpt(Scope(store), config); });
  };
  EXPECT_TRUE(names(refusal([](TransformerConfig& c) { c.n_head = 4; }), {"gpt", "n_head", "4", "n_embd", "6"}));
  EXPECT_TRUE(names(refusal([](TransformerConfig& c) { c.n_head = 0; }), {"n_head", "0"}));
  EXPECT_TRUE(names(refusal([](TransformerConfig& c) { c.n_layer = 0; }), {"n_layer", "0"}));
  EXPECT_TRUE(names(refusal([](TransformerConfig& c) { c.vocab_size = 0; }), {"vocab_size", "0"}));
  EXPECT_TRUE(names(refusal([](TransformerConfig& c) { c.block_size = -1; }), {"block_size", "-1"}));
  EXPECT_TRUE(names(refusal([](TransformerConfig& c) { c.dropout = 1; }), {"dropout", "1"}));
  EXPECT_TRUE(names(refusal([](TransformerConfig& c) { c.dropout = -0.1; }), {"dropout", "-0.1"}));
  EXPECT_EQ(refusal([](TransformerConfig& c) { c.n_head = 3; }), "");
  EXPECT_TRUE(names(refusal([](TransformerConfig& c) { c.n_head = 6, c.n_kv_head = 4; }), {"gpt", "n_kv_head", "4", "n_head", "6"}));
  EXPECT_TRUE(names(refusal([](TransformerConfig& c) { c.n_kv_head = 0; }), {"gpt", "n_kv_head", "0", "1"}));
  EXPECT_TRUE(names(refusal([](TransformerConfig& c) { c.n_kv_head = 4; }), {"gpt", "n_kv_head", "4", "n_head", "2"}));
  EXPECT_TRUE(names(refusal([](TransformerConfig& c) { c.head_size = 0; }), {"gpt", "head_size", "0", "1"}));
  EXPECT_EQ(refusal([](TransformerConfig& c) { c.n_head = 4, c.head_size = 5; }), "");
  EXPECT_TRUE(names(refusal([](TransformerConfig& c) { c.positions = Positions::rope; }), {"gpt", "head_size", "3", "even", "RoPE"}));
  EXPECT_EQ(refusal([](TransformerConfig& c) { c.positions = Positions::rope, c.head_size = 4; }), "");
  EXPECT_TRUE(names(refusal([](TransformerConfig& c) { c.norm_eps = 0; }), {"gpt", "norm_eps", "0"}));
  const auto rope = [](TransformerConfig& c) { c.positions = Positions::rope, c.head_size = 4; };
  EXPECT_TRUE(names(refusal([&](TransformerConfig& c) { rope(c), c.rope_theta = 0; }), {"gpt", "rope_theta", "0", "rope_factor", "8"}));
  EXPECT_TRUE(names(refusal([&](TransformerConfig& c) { rope(c), c.rope_scaling = RopeScaling::llama3, c.rope_low_freq_factor = 4; }),
                    {"gpt", "rope_low_freq_factor", "4", "rope_high_freq_factor"}));
  EXPECT_TRUE(names(refusal([](TransformerConfig& c) { c.window = -1; }), {"gpt", "window", "-1"}));
  EXPECT_TRUE(names(refusal([](TransformerConfig& c) { c.window_pattern = -1; }), {"gpt", "window_pattern", "-1", "rope_pattern", "0"}));
  EXPECT_TRUE(names(refusal([](TransformerConfig& c) { c.rope_share = 0; }), {"gpt", "rope_share", "0"}));
  EXPECT_TRUE(names(refusal([](TransformerConfig& c) { c.rope_share = 1.5; }), {"gpt", "rope_share", "1.5"}));
  EXPECT_TRUE(names(refusal([](TransformerConfig& c) { c.rope_theta_local = -1; }), {"gpt", "rope_theta_local", "-1"}));
  EXPECT_TRUE(names(refusal([&](TransformerConfig& c) { rope(c), c.rope_short_factors = {1}; }), {"gpt", "1 rope_short_factors", "2"}));
  EXPECT_TRUE(
      names(refusal([&](TransformerConfig& c) { rope(c), c.rope_short_factors = {1, 0}; }), {"gpt", "rope_short_factors", "above 0"}));
  EXPECT_TRUE(names(refusal([&](TransformerConfig& c) { rope(c), c.rope_long_factors = {1, 2, 3}; }), {"gpt", "3 rope_long_factors", "2"}));
  EXPECT_EQ(refusal([&](TransformerConfig& c) { rope(c), c.rope_short_factors = {1, 2}; }), "");
  EXPECT_TRUE(names(refusal([](TransformerConfig& c) { c.rope_amplitude = 0; }), {"gpt", "rope_amplitude", "0"}));
  const auto longrope = [&](TransformerConfig& c) { rope(c), c.rope_scaling = RopeScaling::longrope, c.block_size = 9; };
  EXPECT_EQ(refusal([&](TransformerConfig& c) { longrope(c), c.rope_original_context = 9; }), "");
  EXPECT_TRUE(names(refusal([&](TransformerConfig& c) { longrope(c), c.rope_original_context = 8; }),
                    {"gpt", "block_size", "9", "rope_original_context", "8"}));
  EXPECT_TRUE(names(refusal([](TransformerConfig& c) { c.attention_scale = 0; }), {"gpt", "attention_scale", "0"}));
  EXPECT_TRUE(names(refusal([](TransformerConfig& c) { c.embedding_scale = 0; }), {"gpt", "embedding_scale", "0"}));
  EXPECT_TRUE(names(refusal([](TransformerConfig& c) { c.residual_scale = -2; }), {"gpt", "residual_scale", "-2"}));
  EXPECT_TRUE(names(refusal([](TransformerConfig& c) { c.logit_scale = 0; }), {"gpt", "logit_scale", "0"}));
}

TEST(TransformerConfigLayers, HaveWindowsAndPositionsByTheirPatterns) {
  TransformerConfig c;
  c.positions = Positions::rope;
  EXPECT_EQ(window_of(c, 0), 0);
  EXPECT_TRUE(has_rope(c, 3));
  c.window = 512;
  EXPECT_EQ(window_of(c, 5), 512) << "without a pattern, in all layers";
  c.window_pattern = 6;
  c.rope_pattern = 4;
  for (index layer = 0; layer < 24; ++layer) {
    EXPECT_EQ(window_of(c, layer), layer % 6 == 5 ? 0 : 512) << layer;
    EXPECT_EQ(has_rope(c, layer), layer % 4 != 3) << layer;
  }
  c.positions = Positions::learned;
  EXPECT_FALSE(has_rope(c, 0));
}

// The sandwich has two more norms in each block, and a norm of rows has a weight for each column.
TEST(GptParameters, FollowFromThePlacesOfNorms) {
  TransformerConfig c = kTiny;
  const auto has = [](const TransformerConfig& config, const char* path, index size) {
    ParameterStore store;
    const Gpt gpt(Scope(store), config);
    for (const ParameterStore::Entry* entry : store.entries()) {
      if (entry->path == path) {
        return entry->size() == size;
      }
    }
    return size == 0;
  };
  for (const auto where : {NormPosition::pre, NormPosition::post, NormPosition::sandwich, NormPosition::branch}) {
    c.norm_position = where;
    EXPECT_TRUE(has(c, "h.0.ln_1.weight", c.n_embd));
    EXPECT_TRUE(has(c, "h.0.ln_1_out.weight", where == NormPosition::sandwich ? c.n_embd : 0));
    EXPECT_TRUE(has(c, "h.0.ln_2_out.weight", where == NormPosition::sandwich ? c.n_embd : 0));
    EXPECT_TRUE(has(c, "ln_f.weight", where == NormPosition::post ? 0 : c.n_embd));
  }
  c.qk_norm = true;
  c.n_kv_head = 1;
  EXPECT_TRUE(has(c, "h.0.attn.q_norm.weight", 3));
  c.qk_norm_over = QkNormOver::row;
  EXPECT_TRUE(has(c, "h.0.attn.q_norm.weight", 6));
  EXPECT_TRUE(has(c, "h.0.attn.k_norm.weight", 3));
}

TEST(SelfAttentionCheck, RefusesHeadsThatDoNotDivideTheWidth) {
  ParameterStore store;
  const Scope scope = Scope(store) / "attn";
  EXPECT_TRUE(
      names(testing::error_of([&] { SelfAttention(scope, with_defaults({.n_head = 4, .n_embd = 6}), true); }), {"attn", "4 heads", "6"}));
}

}  // namespace
}  // namespace dikkat
