#include "train/sample/look_at.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "autograd/base/error.h"
#include "train/sample/draw.h"

namespace dikkat {
namespace {

/// The likeliest of the first ids of logits, with their probabilities.
std::vector<std::pair<Token, double>> likeliest(std::span<const float> logits, const LookOptions& options) {
  std::vector<Token> ids(static_cast<std::size_t>(options.ids));
  std::iota(ids.begin(), ids.end(), 0);
  const auto end = ids.begin() + std::min(options.alternatives, std::ssize(ids));
  std::partial_sort(ids.begin(), end, ids.end(), [&](Token a, Token b) {
    const float x = logits[static_cast<std::size_t>(a)], y = logits[static_cast<std::size_t>(b)];
    return x != y ? x > y : a < b;
  });
  std::vector<std::pair<Token, double>> found;
  for (auto id = ids.begin(); id != end; ++id) {
    found.emplace_back(*id, std::exp(log_probability(logits, *id)));
  }
  return found;
}

/// Appends the rows of the queries from look.first_query on, of each head.
void append_weights(Tensor weights, index time, Look& look) {
  constexpr float kWhole = 255;
  const float* row = weights.data<float>();  // (1, heads, time, time)
  for (index head = 0; head < look.heads; ++head) {
    for (index query = 0; query < time; ++query, row += time) {
      for (index key = 0; key < time && query >= look.first_query; ++key) {
        look.attention.push_back(key <= query ? static_cast<std::uint8_t>(std::lround(std::clamp(row[key], 0.0F, 1.0F) * kWhole)) : 0);
      }
    }
  }
}

}  // namespace

Look look_at(const Gpt& model, std::span<const Token> text, const LookOptions& options) {
  const TransformerConfig& c = model.config();
  const index time = std::ssize(text);
  require(time >= 1 && time <= c.block_size, "look_at: ", time, " tokens, expected 1 to ", index{c.block_size});
  Look look{.layers = c.n_layer, .heads = c.n_head};
  const index rows = std::min(time, options.attention / (look.layers * look.heads * time));
  look.first_query = time - rows;
  Tape tape{Recording::off};
  const AttentionObserver observer = [&](std::string_view, Tensor weights) { append_weights(weights, time, look); };
  Pass pass{.tape = tape, .attention_observer = &observer};
  const Tensor logits = model(pass, tape.input<Token>({1, time}, text));
  const auto vocabulary = static_cast<std::size_t>(logits.shape()[2]);
  look.tokens.push_back({.token = text.front(), .probability = std::numeric_limits<double>::quiet_NaN()});
  for (std::size_t i = 1; i < text.size(); ++i) {
    const std::span<const float> row(logits.data<float>() + (i - 1) * vocabulary, vocabulary);
    look.tokens.push_back(
        {.token = text[i], .probability = std::exp(log_probability(row, text[i])), .alternatives = likeliest(row, options)});
  }
  return look;
}

}  // namespace dikkat
