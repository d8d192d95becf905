#include "train/data/examples/pair_store.h"

#include <algorithm>

#include "autograd/base/error.h"
#include "train/system/pipeline.h"

namespace dikkat {
namespace {

constexpr index kPairsOfATask = 256;

SequenceTokens marks_of(const Tokenizer& tokenizer) {
  const auto special = tokenizer.sequence_tokens();
  require_input(special.has_value(), "tokenizer.kind is \"", tokenizer.kind(),
                "\", expected \"word\": pairs need tokens for padding, start and end, which this kind does not have");
  return *special;
}

/// Throws `error` with the file, the line and the byte in the file. `text` is the pair's source or target.
[[noreturn]] void refuse(const EncodeError& error, const Pair& pair, std::string_view text) {
  const index begin = pair.offset + (text.data() == pair.source.data() ? 0 : static_cast<index>(pair.source.size()) + 1);
  fail_input(pair, ": byte ", begin + error.offset(), " of the file: ", error.problem());
}

std::vector<Token> encode(const Tokenizer& tokenizer, const Pair& pair, std::string_view text) {
  try {
    return tokenizer.encode(text);
  } catch (const EncodeError& error) {
    refuse(error, pair, text);
  }
}

}  // namespace

std::unique_ptr<Tokenizer> make_tokenizer(const TokenizerOptions& options, const PairCorpus& corpus) {
  std::vector<std::string_view> texts;
  texts.reserve(2 * corpus.pairs.size());
  for (const Pair& pair : corpus.pairs) {
    texts.insert(texts.end(), {pair.source, pair.target});
  }
  try {
    return make_tokenizer(options, texts);
  } catch (const EncodeError& error) {
    const auto at = static_cast<std::size_t>(error.document());
    refuse(error, corpus.pairs.at(at / 2), texts.at(at));
  }
}

PairStore::PairStore(const Tokenizer& tokenizer, std::span<const Pair> pairs)
    : special_tokens_(marks_of(tokenizer)), sources_(tokenizer.vocab_size()), targets_(tokenizer.vocab_size()) {
  struct Tokens {
    std::vector<Token> source, target;
  };
  std::vector<Tokens> encoded(pairs.size());
  run_tasks(std::ssize(pairs), kPairsOfATask, [&](index i) {
    const auto at = static_cast<std::size_t>(i);
    const Pair& pair = pairs[at];
    encoded[at] = {.source = encode(tokenizer, pair, pair.source), .target = encode(tokenizer, pair, pair.target)};
    encoded[at].source.push_back(special_tokens_.end);
  });
  for (std::size_t i = 0; i < encoded.size(); ++i) {
    sources_.append(encoded[i].source);
    targets_.append(encoded[i].target);
    target_bytes_ += static_cast<index>(pairs[i].target.size());
    encoded[i] = {};  // frees the memory before the next pairs are copied
  }
}

void PairStore::Sequences::append(std::span<const Token> tokens) {
  tokens_.append(tokens);
  starts_.push_back(tokens_.size());
  longest_ = std::max(longest_, static_cast<index>(tokens.size()));
}

index PairStore::Sequences::length(index i) const {
  const std::size_t begin = at(i);
  return starts_[begin + 1] - starts_[begin];
}

std::size_t PairStore::Sequences::at(index i) const {
  require(i >= 0 && i < count(), "pair store: pair ", i, ", expected one of the ", count(), " in it");
  return static_cast<std::size_t>(i);
}

void require_fits(const PairStore& store, std::span<const Pair> pairs, index block_size) {
  require(store.count() == static_cast<index>(pairs.size()), "pair store: has ", store.count(), " pairs, expected ", pairs.size());
  const auto check = [&](const Pair& pair, const char* name, index length) {
    require_input(length <= block_size, pair, ": the ", name, " has ", length, " tokens with its special token, expected at most ",
                  block_size, " (model.block_size): raise model.block_size or shorten the line");
  };
  for (index i = 0; i < store.count(); ++i) {
    const Pair& pair = pairs[static_cast<std::size_t>(i)];
    check(pair, "source", store.source_length(i));
    check(pair, "target", store.target_length(i));
  }
}

}  // namespace dikkat
