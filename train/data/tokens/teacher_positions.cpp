#include "train/data/tokens/teacher_positions.h"

#include <algorithm>
#include <numeric>

#include "autograd/base/error.h"
#include "train/data/samples/sequence_rows.h"
#include "train/data/samples/windows.h"
#include "train/system/sha256.h"

namespace dikkat {
namespace {

template <class Values>
void add_values(Sha256& hash, const Values& values) {
  hash.add(std::as_bytes(std::span(values)));
}

}  // namespace

index TeacherPositions::targets() const { return stream_ != nullptr ? stream_->size() - 1 : first_targets(*sequences_).back(); }

std::string TeacherPositions::hash() const {
  Sha256 hash;
  if (stream_ != nullptr) {
    constexpr index kChunk = index{1} << 20;
    std::vector<Token> tokens;
    for (index first = 0; first < stream_->size(); first += kChunk) {
      tokens.resize(static_cast<std::size_t>(std::min(kChunk, stream_->size() - first)));
      stream_->read(first, std::ssize(tokens), tokens.data());
      add_values(hash, tokens);
    }
    stream_->forget();
    return to_hex(hash.finish());
  }
  for_each_sequence(*sequences_, [&](index sequence, const auto& inputs, const auto& targets, const auto& weights) {
    const index lengths[] = {sequences_->length(sequence)};
    add_values(hash, lengths);
    add_values(hash, inputs);
    add_values(hash, targets);
    add_values(hash, weights);
  });
  return to_hex(hash.finish());
}

std::unique_ptr<const Samples> TeacherPositions::samples(index window, index stride) const {
  if (stream_ != nullptr) {
    return std::make_unique<SequentialWindows>(*stream_, window, stride);
  }
  return std::make_unique<SequenceRows>(*sequences_);
}

std::string hash_of_vocabulary(const Tokenizer& tokenizer) {
  Sha256 hash;
  const auto add = [&](index id, const std::string& text) {
    const index about[] = {id, std::ssize(text)};
    add_values(hash, about);
    add_values(hash, text);
  };
  for (index id = 0; id < tokenizer.vocab_size(); ++id) {
    const Token token[] = {static_cast<Token>(id)};
    add(id, tokenizer.decode_inside(token));
  }
  for (const SpecialToken& special : tokenizer.special_tokens()) {
    add(special.id, special.name);
  }
  return to_hex(hash.finish());
}

}  // namespace dikkat
