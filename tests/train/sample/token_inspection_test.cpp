#include "train/sample/token_inspection.h"

#include <cmath>

#include <gtest/gtest.h>

#include "autograd/base/error.h"

namespace dikkat {
namespace {

struct InspectTokens : ::testing::Test {
  ParameterStore store;
  Gpt gpt{Scope(store), {.n_layer = 2, .n_head = 2, .n_embd = 16, .block_size = 6, .vocab_size = 20}};
  std::vector<Token> text = {3, 1, 4, 1, 5};

  InspectTokens() {
    store.allocate(4);
    for (ParameterStore::Entry* entry : store.entries()) {
      for (index i = 0; i < entry->size(); ++i) {
        static_cast<float*>(entry->record.data)[i] *= 15;  // so that probabilities and weights differ
      }
    }
  }
};

TEST_F(InspectTokens, reports_the_probabilities_of_the_plain_model) {
  const TokenInspection look = inspect_tokens(gpt, text, {.ids = 9, .alternatives = 3});
  ASSERT_EQ(look.tokens.size(), text.size());
  EXPECT_TRUE(std::isnan(look.tokens[0].probability));
  Tape tape{Recording::off};
  Pass pass{.tape = tape};
  const Tensor logits = gpt(pass, tape.input<Token>({1, 5}, text));
  for (std::size_t i = 1; i < text.size(); ++i) {
    const float* row = logits.data<float>() + (i - 1) * 20;
    double sum = 0;
    for (int id = 0; id < 20; ++id) {
      sum += std::exp(double{row[id]});
    }
    EXPECT_NEAR(look.tokens[i].probability, std::exp(double{row[text[i]]}) / sum, 1e-6);
    const auto& alternatives = look.tokens[i].alternatives;
    ASSERT_EQ(alternatives.size(), 3U);
    for (int id = 0; id < 9; ++id) {
      EXPECT_LE(row[id], row[alternatives[0].first]) << "the likeliest id comes first";
    }
    EXPECT_GE(alternatives[0].second, alternatives[1].second);
    EXPECT_LT(alternatives[2].first, 9) << "padding of the embedding table is not a token";
  }
}

TEST_F(InspectTokens, keeps_weights_of_every_layer_and_head) {
  const TokenInspection look = inspect_tokens(gpt, text, {.ids = 9});
  EXPECT_EQ(look.first_query, 0);
  ASSERT_EQ(look.attention.size(), 2U * 2 * 5 * 5);
  bool differ = false;
  for (std::size_t row = 0; row < 2 * 2 * 5; ++row) {
    int sum = 0;
    for (std::size_t key = 0; key < 5; ++key) {
      const int weight = look.attention[row * 5 + key];
      EXPECT_TRUE(key <= row % 5 || weight == 0) << "no position sees later ones";
      sum += weight;
    }
    EXPECT_NEAR(sum, 255, 3);
    differ |= look.attention[row * 5] != look.attention[row % 5 * 5];
  }
  EXPECT_TRUE(differ) << "heads look at different things";
}

TEST_F(InspectTokens, keeps_the_latest_positions_if_it_may_not_keep_all) {
  const TokenInspection all = inspect_tokens(gpt, text, {.ids = 9});
  const TokenInspection some = inspect_tokens(gpt, text, {.ids = 9, .attention = 2 * 2 * 2 * 5});
  EXPECT_EQ(some.first_query, 3);
  ASSERT_EQ(some.attention.size(), 2U * 2 * 2 * 5);
  EXPECT_EQ(some.attention[5], all.attention[4 * 5]) << "the last position of the first head";
}

TEST_F(InspectTokens, reads_a_longer_text_in_windows_that_overlap_by_half) {
  const std::vector<Token> longer = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5};  // windows from 0, 3 and 6; the last has five tokens
  const TokenInspection look = inspect_tokens(gpt, longer, {.ids = 20});
  ASSERT_EQ(look.tokens.size(), longer.size());
  const auto window = [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
    return inspect_tokens(gpt, std::vector<Token>(longer.begin() + begin, longer.begin() + end), {.ids = 20});
  };
  const TokenInspection first = window(0, 6), second = window(3, 9), third = window(6, 11);
  EXPECT_EQ(look.tokens[5].probability, first.tokens[5].probability);
  EXPECT_EQ(look.tokens[6].probability, second.tokens[3].probability);
  EXPECT_EQ(look.tokens[8].probability, second.tokens[5].probability);
  EXPECT_EQ(look.tokens[9].probability, third.tokens[3].probability);
  EXPECT_EQ(look.tokens[10].alternatives, third.tokens[4].alternatives);
  EXPECT_EQ(look.first_key, 6);
  EXPECT_EQ(look.first_query, 6);
  EXPECT_EQ(look.attention, third.attention);
}

TEST_F(InspectTokens, refuses_an_empty_text) { EXPECT_THROW(inspect_tokens(gpt, {}, {.ids = 9}), Error); }

}  // namespace
}  // namespace dikkat
