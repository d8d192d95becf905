#include "train/model/text_vectors.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "autograd/base/error.h"

namespace dikkat {
namespace {

constexpr index kBlockOfRow = 64, kPanelOfRow = 16;  // of attention: kBlock and kPanel in kernels/attention/attention_tiles.h

}  // namespace

std::vector<VectorPlace> place_texts(std::span<const index> lengths, index& cols) {
  std::vector<index> order(lengths.size());
  std::iota(order.begin(), order.end(), index{0});
  const auto length_of = [&](index text) { return lengths[static_cast<std::size_t>(text)]; };
  std::ranges::stable_sort(order, [&](index a, index b) { return length_of(a) > length_of(b); });
  std::vector<VectorPlace> places;
  std::set<std::pair<index, index>> open;  // (room left at the end of a block, where it begins)
  index end = 0;                           // of the blocks in use
  for (const index text : order) {
    const index whole = (length_of(text) - 1) / kBlockOfRow * kBlockOfRow, rest = round_up(length_of(text) - whole, kPanelOfRow);
    const auto best = whole > 0 ? open.end() : open.lower_bound({rest, 0});
    index begin = end, room = kBlockOfRow;
    if (best != open.end()) {
      room = best->first;
      begin = best->second;
      open.erase(best);
    } else {
      end += whole + kBlockOfRow;
    }
    places.push_back({.text = text, .begin = begin});
    if (room > rest) {
      open.emplace(room - rest, begin + whole + rest);
    }
  }
  std::ranges::sort(places, {}, &VectorPlace::begin);
  cols = end;
  return places;
}

std::vector<float> TextVectors::operator()(std::span<const std::vector<Token>> texts, const std::function<void(index)>& progress) {
  std::vector<float> vectors(texts.size() * static_cast<std::size_t>(width()));
  std::vector<index> some;
  index tokens = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    require(!texts[i].empty() && std::ssize(texts[i]) <= model_.config().block_size, "vectors: text ", i, " has ", texts[i].size(),
            " tokens, expected 1 to ", model_.config().block_size);
    some.push_back(static_cast<index>(i));
    tokens += std::ssize(texts[i]);
    if (tokens >= kTokensAtOnce || i + 1 == texts.size()) {
      compute(texts, some, vectors.data());
      some.clear();
      tokens = 0;
      if (progress) {
        progress(static_cast<index>(i) + 1);
      }
    }
  }
  return vectors;
}

/// Computes the vectors of some of the texts in one pass.
void TextVectors::compute(std::span<const std::vector<Token>> texts, std::span<const index> some, float* vectors) {
  const auto text_at = [&](index i) -> const std::vector<Token>& {
    return texts[static_cast<std::size_t>(some[static_cast<std::size_t>(i)])];
  };
  // Pack the texts into a row.
  std::vector<index> lengths;
  for (index i = 0; i < std::ssize(some); ++i) {
    lengths.push_back(std::ssize(text_at(i)));
  }
  index cols = 0;
  const std::vector<VectorPlace> places = place_texts(lengths, cols);
  batch_.reshape(1, {.cols = cols, .packed = true, .texts = std::ssize(some)});
  batch_.pad(0, 0);
  for (const auto& [text, begin] : places) {
    std::ranges::copy(text_at(text), batch_.inputs.begin() + begin);
    std::fill_n(batch_.starts.begin() + begin, text_at(text).size(), static_cast<std::int32_t>(begin));
    batch_.texts.push_back({.number = text, .begin = begin, .length = std::ssize(text_at(text))});
  }
  // Run the model.
  Pass pass{.tape = tape_, .recompute = Recompute::block};  // the tape keeps only the results of blocks
  const Tensor features =
      model_.features(pass, tape_.input<Token>({1, cols}, batch_.inputs), tape_.input<std::int32_t>({1, cols}, batch_.starts));
  const Tensor pooled = pool(pass, features, batch_, pooling_);
  for (index i = 0; i < std::ssize(places); ++i) {
    float* const to = vectors + some[static_cast<std::size_t>(places[static_cast<std::size_t>(i)].text)] * width();
    std::copy_n(pooled.data<float>() + i * width(), width(), to);
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
