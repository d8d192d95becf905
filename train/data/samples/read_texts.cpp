#include "train/data/samples/read_texts.h"

#include <algorithm>

#include "autograd/base/error.h"

namespace dikkat {
namespace {

std::vector<index> lengths_of_texts(const ReadTextStore& store) {
  std::vector<index> lengths;
  for (index text = 0; text < store.count(); ++text) {
    lengths.push_back(store.length(text));
  }
  return lengths;
}

}  // namespace

void ReadTextStore::append(std::span<const Token> text) {
  require(!text.empty(), "texts: text ", count(), " has no tokens, expected 1 or more");
  tokens_.insert(tokens_.end(), text.begin(), text.end());
  begins_.push_back(std::ssize(tokens_));
}

std::span<const Token> ReadTextStore::text(index text) const {
  return std::span(tokens_).subspan(static_cast<std::size_t>(begins_[static_cast<std::size_t>(text)]),
                                    static_cast<std::size_t>(length(text)));
}

index ReadTextStore::put(index text, index place, index row, index at, Batch& batch) const {
  const index begin = row * batch.lengths.cols + at;
  std::ranges::copy(this->text(text), batch.inputs.begin() + begin);
  std::fill_n(batch.starts.begin() + begin, length(text), static_cast<std::int32_t>(at));
  batch.texts.push_back({.number = text, .begin = begin, .length = length(text), .place = place});
  return at + length(text);
}

ReadTextSamples::ReadTextSamples(const ReadTextStore& store, index room) : store_(store), rows_(lengths_of_texts(store), room) {
  for (index row = 0; row < rows_.count(); ++row) {
    most_texts_ = std::max(most_texts_, units(row));
  }
}

double ReadTextSamples::target_weight(index sample) const {
  index tokens = 0;
  for (const index text : rows_.units(sample)) {
    tokens += store_.length(text);
  }
  return static_cast<double>(tokens);
}

void ReadTextSamples::fill(index, index sample, index row, Batch& batch) const {
  batch.pad(row, 0);
  index at = 0;
  for (const index text : rows_.units(sample)) {
    at = store_.put(text, 0, row, at, batch);
  }
  batch.units += units(sample);
  batch.target_weight += static_cast<double>(at);
}

}  // namespace dikkat
