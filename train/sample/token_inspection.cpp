#include "train/sample/token_inspection.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/base/error.h"
#include "train/sample/scored_token.h"

namespace dikkat {
namespace {

/// Returns the token at a position, whose probabilities are softmax(logits), and the likeliest tokens there.
TokenInspection::Seen inspect_token(Token token, std::span<const float> logits, const InspectionOptions& options) {
  const ScoredToken scored = score_token(logits, token, options.ids, options.alternatives);
  TokenInspection::Seen looked{.token = token, .probability = std::exp(*scored.log_probability)};
  for (const auto& [id, log_probability] : scored.likeliest) {
    looked.alternatives.emplace_back(id, std::exp(log_probability));
  }
  return looked;
}

/// Appends the weights of each head for the last `rows` queries of a window of `time` tokens.
void append_weights(Tensor weights, index time, index rows, TokenInspection& look) {
  constexpr float kWhole = 255;
  const float* row = weights.data<float>();  // (1, heads, time, time)
  for (index head = 0; head < look.heads; ++head) {
    for (index query = 0; query < time; ++query, row += time) {
      for (index key = 0; key < time && query >= time - rows; ++key) {
        look.attention.push_back(key <= query ? static_cast<std::uint8_t>(std::lround(std::clamp(row[key], 0.0F, 1.0F) * kWhole)) : 0);
      }
    }
  }
}

}  // namespace

TokenInspection inspect_tokens(const Gpt& model, std::span<const Token> text, const InspectionOptions& options) {
  const TransformerConfig& c = model.config();
  constexpr index kMostAtOnce = 2048;  // memory grows with the square of the window
  const index all = std::ssize(text), window = std::min(c.block_size, kMostAtOnce);
  require(all >= 1, "inspect_tokens: no tokens, expected 1 or more");
  TokenInspection look{.layers = c.n_layer, .heads = c.n_head};
  look.tokens.push_back({.token = text.front(), .probability = std::numeric_limits<double>::quiet_NaN()});
  const index stride = std::max<index>(1, window / 2);
  for (index begin = 0;; begin += stride) {
    const index time = std::min(window, all - begin);
    const bool is_last = begin + time == all;
    const index rows = is_last ? std::min(time, options.attention / (look.layers * look.heads * time)) : 0;
    Tape tape{Recording::off};
    const AttentionObserver observer = [&](std::string_view, Tensor weights) { append_weights(weights, time, rows, look); };
    Pass pass{.tape = tape, .attention_observer = is_last ? &observer : nullptr};
    const Tensor logits =
        model(pass, tape.input<Token>({1, time}, text.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(time))));
    const auto vocabulary = static_cast<std::size_t>(logits.shape()[2]);
    for (auto i = std::ssize(look.tokens); i < begin + time; ++i) {
      const std::span<const float> row(logits.data<float>() + static_cast<std::size_t>(i - begin - 1) * vocabulary, vocabulary);
      look.tokens.push_back(inspect_token(text[static_cast<std::size_t>(i)], row, options));
    }
    if (is_last) {
      look.first_query = all - rows;
      look.first_key = begin;
      return look;
    }
  }
}

}  // namespace dikkat
