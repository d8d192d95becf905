#include "train/data/samples/read_texts.h"

#include <algorithm>

#include "autograd/base/error.h"

namespace dikkat {
namespace {

std::vector<index> lengths_of_read_units(const ReadTextStore& store, index texts_of_unit) {
  require(texts_of_unit >= 1 && store.count() % texts_of_unit == 0, "texts: ", store.count(), " texts, expected a multiple of ",
          texts_of_unit, ", the number of texts of a unit");
  std::vector<index> lengths(static_cast<std::size_t>(store.count() / texts_of_unit), 0);
  for (index text = 0; text < store.count(); ++text) {
    lengths[static_cast<std::size_t>(text / texts_of_unit)] += store.length(text);
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

ReadTextSamples::ReadTextSamples(const ReadTextStore& store, index room, index texts_of_unit)
    : store_(store), texts_of_unit_(texts_of_unit), rows_(lengths_of_read_units(store, texts_of_unit), room) {
  for (index row = 0; row < rows_.count(); ++row) {
    most_texts_ = std::max(most_texts_, units(row) * texts_of_unit_);
  }
}

double ReadTextSamples::target_weight(index sample) const {
  index tokens = 0;
  for (const index unit : rows_.units(sample)) {
    for (index text = unit * texts_of_unit_; text < (unit + 1) * texts_of_unit_; ++text) {
      tokens += store_.length(text);
    }
  }
  return static_cast<double>(tokens);
}

void ReadTextSamples::fill(index, index sample, index row_of_batch, Batch& batch) const {
  const index begin = row_of_batch * batch.lengths.cols;
  batch.pad(row_of_batch, 0);
  index at = 0;
  for (const index unit : rows_.units(sample)) {
    for (index text = unit * texts_of_unit_; text < (unit + 1) * texts_of_unit_; ++text) {
      const index length = store_.length(text);
      std::ranges::copy(store_.text(text), batch.inputs.begin() + begin + at);
      std::fill_n(batch.starts.begin() + begin + at, length, static_cast<std::int32_t>(at));
      batch.texts.push_back({.number = text, .begin = begin + at, .length = length, .place = text - unit * texts_of_unit_});
      at += length;
    }
  }
  batch.units += units(sample);
  batch.target_weight += static_cast<double>(at);
}

}  // namespace dikkat
