#include "train/model/text_vectors.h"

#include <cmath>

#include <gtest/gtest.h>

#include "autograd/base/parallel.h"
#include "tests/support/throws.h"

namespace dikkat {
namespace {

std::vector<Token> text_of(index length, index seed) {
  std::vector<Token> text;
  for (index i = 0; i < length; ++i) {
    text.push_back(static_cast<Token>((seed * 31 + i * i * 7 + i) % 60));
  }
  return text;
}

class TextVectorsOf : public ::testing::TestWithParam<Positions> {
 protected:
  TextVectorsOf() : model({.n_layer = 2, .n_head = 2, .n_embd = 32, .block_size = 200, .positions = GetParam()}, 60) {
    model.parameters().allocate(4);
    for (ParameterStore::Entry* entry : model.parameters().entries()) {
      for (index i = 0; i < entry->size(); ++i) {
        static_cast<float*>(entry->record.data)[i] *= 8;
      }
    }
  }
  LanguageModel model;
};

TEST_P(TextVectorsOf, HaveTheSameBitsWithAnyNeighbors) {
  std::vector<std::vector<Token>> texts;
  for (const index length : {1, 2, 3, 7, 8, 9, 16, 17, 31, 33, 64, 65, 66, 100, 128, 129, 199, 200}) {
    texts.push_back(text_of(length, length));
  }
  for (const Pooling pooling : {Pooling::mean, Pooling::last}) {
    TextVectors vectors(model.gpt(), pooling);
    const std::vector<float> together = vectors(texts);
    std::vector<std::vector<Token>> reversed(texts.rbegin(), texts.rend());
    for (index i = 0; i < 150; ++i) {
      reversed.push_back(text_of(1 + i % 90, i));
    }
    const std::vector<float> among_others = vectors(reversed);
    const WithThreads with(3, Work{0});
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const std::vector<float> alone = vectors(std::span(&texts[i], 1));
      const auto at = [&](const std::vector<float>& all, std::size_t text) {
        return std::vector<float>(all.begin() + static_cast<index>(text) * 32, all.begin() + static_cast<index>(text + 1) * 32);
      };
      EXPECT_EQ(at(together, i), alone) << texts[i].size();
      EXPECT_EQ(at(among_others, texts.size() - 1 - i), alone) << texts[i].size();
    }
  }
}

TEST_P(TextVectorsOf, ArePooledFeaturesOfLengthOne) {
  const std::vector<std::vector<Token>> texts = {text_of(40, 2), text_of(9, 3), text_of(23, 4)};
  for (const Pooling pooling : {Pooling::mean, Pooling::last}) {
    const std::vector<float> found = TextVectors(model.gpt(), pooling)(texts);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      Tape tape(Recording::off);
      Pass pass{.tape = tape};
      const index length = std::ssize(texts[i]);
      const Tensor features = model.gpt().features(pass, tape.input<Token>({1, length}, texts[i]));
      std::vector<double> expected(32);
      for (index t = pooling == Pooling::mean ? 0 : length - 1; t < length; ++t) {
        for (index c = 0; c < 32; ++c) {
          expected[static_cast<std::size_t>(c)] += static_cast<double>(features.data<float>()[t * 32 + c]);
        }
      }
      double squares = 0;
      for (const double x : expected) {
        squares += x * x;
      }
      for (std::size_t c = 0; c < 32; ++c) {
        EXPECT_NEAR(found[i * 32 + c], expected[c] / std::sqrt(squares), 2e-6);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Positions, TextVectorsOf, ::testing::Values(Positions::learned, Positions::rope));

TEST(TextVectors, RefusesTextsThatTheModelCannotRead) {
  LanguageModel model({.n_layer = 1, .n_head = 1, .n_embd = 8, .block_size = 12}, 60);
  model.parameters().allocate(4);
  TextVectors vectors(model.gpt(), Pooling::mean);
  EXPECT_TRUE(vectors({}).empty());
  const std::vector<std::vector<Token>> with_none = {text_of(3, 1), {}}, with_long = {text_of(3, 1), text_of(13, 1)};
  EXPECT_THROW(vectors(with_none), Error);
  EXPECT_THROW(vectors(with_long), Error);
  std::vector<float> zeros(4, 0);
  normalize(zeros);
  EXPECT_EQ(zeros, std::vector<float>(4, 0));
}

}  // namespace
}  // namespace dikkat
