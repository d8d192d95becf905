#include "train/model/text_vectors.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "autograd/base/error.h"
#include "train/data/samples/samples.h"

namespace dikkat {

std::vector<float> TextVectors::operator()(std::span<const std::vector<Token>> texts, const std::function<void(index)>& progress) {
  std::vector<float> vectors(texts.size() * static_cast<std::size_t>(width()));
  std::vector<std::size_t> order(texts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto length_of = [&](std::size_t text) { return std::ssize(texts[text]); };
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return length_of(a) > length_of(b); });
  for (std::size_t first = 0, end = 0; first < order.size(); first = end) {
    const index longest = length_of(order[first]);
    require(length_of(order.back()) > 0 && longest <= model_.config().block_size, "vectors: text ", order[first], " has ", longest,
            " tokens, expected 1 to ", model_.config().block_size);
    const auto most = static_cast<std::size_t>(std::max<index>(1, kTokensAtOnce / longest));
    while (end < order.size() && end - first < most && 2 * length_of(order[end]) >= longest) {
      ++end;
    }
    compute(texts, std::span(order).subspan(first, end - first), vectors.data());
    if (progress) {
      progress(static_cast<index>(end));
    }
  }
  return vectors;
}

/// Computes the vectors of some of the texts, the longest first, in one pass.
void TextVectors::compute(std::span<const std::vector<Token>> texts, std::span<const std::size_t> some, float* vectors) {
  constexpr index kLeast = 32;  // positions of a pass: products of up to 16 rows add in another order
  const index rows = std::ssize(some), longest = round_up(std::ssize(texts[some.front()]), kRowGrain);
  const index cols = std::min(std::max(longest, ceil_div(kLeast, rows)), model_.config().block_size);
  batch_.reshape(std::max(rows, ceil_div(kLeast, cols)), {.cols = cols});
  for (index row = 0; row < batch_.rows; ++row) {
    batch_.pad(row, 0);
  }
  for (index row = 0; row < rows; ++row) {
    const std::vector<Token>& text = texts[some[static_cast<std::size_t>(row)]];
    std::ranges::copy(text, batch_.inputs.begin() + row * cols);
    batch_.texts.push_back({.number = row, .begin = row * cols, .length = std::ssize(text)});
  }
  Pass pass{.tape = tape_, .recompute = Recompute::block};  // the tape keeps only the results of blocks
  const Tensor features = model_.features(pass, tape_.input<Token>({batch_.rows, cols}, batch_.inputs));
  const Tensor pooled = pool(pass, features, batch_, pooling_);
  for (index row = 0; row < rows; ++row) {
    float* const to = vectors + static_cast<index>(some[static_cast<std::size_t>(row)]) * width();
    std::copy_n(pooled.data<float>() + row * width(), width(), to);
    normalize({to, static_cast<std::size_t>(width())});
  }
  tape_.reset();
}

void normalize(std::span<float> vector) {
  double squares = 0;
  for (const float x : vector) {
    squares += static_cast<double>(x) * static_cast<double>(x);
  }
  if (squares > 0) {
    for (float& x : vector) {
      x = static_cast<float>(static_cast<double>(x) / std::sqrt(squares));
    }
  }
}

}  // namespace dikkat
