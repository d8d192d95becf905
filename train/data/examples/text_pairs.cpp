#include "train/data/examples/text_pairs.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/chat/text_pair_keys.h"
#include "train/data/examples/read_examples.h"
#include "train/system/json.h"
#include "train/text/around_text.h"

namespace dikkat {
namespace {

using PairJson = nlohmann::ordered_json;

/// Returns the first of the keys that the object has; empty if it has none. Throws InputError if it has two.
std::string_view key_among(const PairJson& object, std::span<const std::string_view> keys) {
  std::string_view found;
  for (const std::string_view key : keys) {
    if (find_value(object, key) != nullptr) {
      require_input(found.empty(), "has \"", found, "\" and \"", key, "\", expected one of them: leave one out, or name it (--columns ",
                    keys[0], "=", found, ",...)");
      found = key;
    }
  }
  return found;
}

std::string text_at(const PairJson& value, std::string_view key) {
  require_input(value.is_string(), "has \"", key, "\", which is ", short_text(value), ", expected a text");
  const auto& text = value.get_ref<const std::string&>();
  require_input(text.find_first_not_of(" \t\r\n") != std::string::npos, "has an empty text in \"", key, "\", expected words");
  return text;
}

std::string side_of(const PairJson& object, std::span<const std::string_view> keys) {
  const std::string_view key = key_among(object, keys);
  std::string names;
  for (const std::string_view one : keys) {
    append_to(names, concat(names.empty() ? "" : ", ", '"', one, '"'));
  }
  require_input(!key.empty(), "has none of ", names, ", expected a pair of texts such as {\"anchor\": \"...\", \"positive\": \"...\"}; ",
                "--columns anchor=KEY,positive=KEY names others");
  return text_at(object[std::string(key)], key);
}

}  // namespace

TextPair to_text_pair(const PairJson& object) {
  require_input(object.is_object(), "is a JSON ", json_type(object), ", expected an object on each line");
  TextPair pair{.anchor = side_of(object, kAnchorKeys), .positive = side_of(object, kPositiveKeys)};
  const std::string_view key = key_among(object, kNegativeKeys);
  if (key.empty()) {
    return pair;
  }
  const PairJson& value = object[std::string(key)];
  if (value.is_array()) {
    for (const PairJson& one : value) {
      pair.negatives.push_back(text_at(one, key));
    }
  } else if (!value.is_string() || !value.get_ref<const std::string&>().empty()) {  // an empty cell of a table is not a text
    pair.negatives.push_back(text_at(value, key));
  }
  return pair;
}

TextPairCorpus read_text_pairs(std::span<const std::string> paths, FieldNames names) {
  names.pairs = true;
  TextPairCorpus corpus;
  for_examples(paths, names, "pairs of texts in every file: objects in JSONL or in a JSON array, or rows of a table", corpus,
               [](const PairJson& object) { return to_text_pair(object); });
  return corpus;
}

TextPairStore::TextPairStore(const TextPairCorpus& corpus, index first, index count, const Tokenizer& tokenizer, index window) {
  // Encode all pairs in parallel.
  auto encoded = encode_examples(corpus, first, count, [&](const TextPair& pair) {
    std::vector<std::vector<Token>> texts;
    const auto add = [&](const std::string& text) {
      texts.push_back(encode_whole(tokenizer, text));
      require_input(!texts.back().empty(), "has a text without tokens, expected words");
    };
    add(pair.anchor);
    add(pair.positive);
    std::ranges::for_each(pair.negatives, add);
    return texts;
  });
  // Store them.
  for (index i = 0; i < count; ++i) {
    auto& texts = encoded[static_cast<std::size_t>(i)];
    index cut = 0;
    for (std::vector<Token>& text : texts) {
      cut += std::ssize(text) > window ? 1 : 0;
      text.resize(std::min(text.size(), static_cast<std::size_t>(window)));
    }
    if (texts[0] == texts[1]) {
      where_equal_ = equal_++ == 0 ? corpus.places[static_cast<std::size_t>(first + i)] : where_equal_;
      continue;
    }
    cut_ += cut;
    for (const std::vector<Token>& text : texts) {
      texts_.append(text);
    }
    first_texts_.push_back(this->count());
    texts = {};
  }
}

index TextPairStore::tokens_of(index pair) const {
  index tokens = 0;
  for (index text = first_text(pair); text < first_text(pair + 1); ++text) {
    tokens += texts_.length(text);
  }
  return tokens;
}

void TextPairStore::read(index sequence, Token* inputs, Token* targets, float* weights) const {
  const std::span<const Token> tokens = text(sequence);
  std::ranges::copy(tokens, inputs);
  std::ranges::copy(tokens, targets);
  std::fill_n(weights, tokens.size(), 1.0F);
}

}  // namespace dikkat
