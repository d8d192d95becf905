#include "train/data/samples/token_samples.h"

#include <algorithm>

#include "autograd/base/error.h"
#include "train/data/samples/packed_samples.h"
#include "train/data/samples/shuffled_windows.h"
#include "train/data/samples/windows.h"
#include "train/text/token_bytes.h"

namespace dikkat {
namespace {

/// Returns whether windows stay within a document.
bool by_document(const Config& config) { return config.data.pack != Packing::stream; }

/// Returns the bytes of the tokens that no window predicts: the first token of the text. If documents are separate and have no separators,
/// it is the first token of each document.
index given_bytes(const Config& config, const Tokenizer& tokenizer, const TokenStore& text) {
  const index documents = by_document(config) && !tokenizer.separator() ? text.documents() : 1;
  const TokenBytes sizes(tokenizer);
  index bytes = 0;
  for (index i = 0; i < documents; ++i) {
    Token first = 0;
    text.read(text.document_start(i), 1, &first);
    bytes += sizes.of(first);
  }
  return bytes;
}

std::unique_ptr<const Samples> training_windows(const Config& config, const Tokenizer& tokenizer, const TokenStore& store,
                                                const Sequences* packed) {
  try {
    if (packed != nullptr) {
      return std::make_unique<PackedSamples>(*packed, config.data.window);
    }
    if (by_document(config)) {
      return std::make_unique<DocumentWindows>(store, config.data.window, tokenizer.separator().has_value());
    }
    const auto seed = static_cast<std::uint64_t>(config.train.seed);
    if (config.data.order == DocumentOrder::shuffled) {
      return std::make_unique<ShuffledWindows>(store, config.data.window, seed);
    }
    return std::make_unique<TrainingWindows>(store, config.data.window, seed);
  } catch (const InputError& error) {
    fail_input(error.what(), " (data.corpus is ", config.data.corpus.front(), config.data.corpus.size() > 1 ? " and others)" : ")");
  }
}

}  // namespace

EvaluationText evaluation_of_tokens(const Config& config, const Tokenizer& tokenizer, TokenStore store, index bytes) {
  EvaluationText text{.text = std::make_unique<TokenStore>(std::move(store))};
  text.tokens = text.text->size();
  if (text.tokens > 1) {
    if (by_document(config)) {
      auto documents = std::make_unique<DocumentWindows>(*text.text, config.data.window, tokenizer.separator().has_value());
      if (config.data.pack == Packing::best_fit) {
        text.samples = std::make_unique<PackedSamples>(*documents, config.data.window);
        text.sequences = std::move(documents);
      } else {
        text.samples = std::move(documents);
      }
    } else {
      text.samples = std::make_unique<SequentialWindows>(*text.text, config.data.window);
    }
    text.predicted_bytes = bytes - given_bytes(config, tokenizer, *text.text);
  }
  return text;
}

SplitText split_of_tokens(const Config& config, const Tokenizer& tokenizer, EvaluationText train, EvaluationText validation) {
  SplitText split{.train = std::move(train), .validation = std::move(validation)};
  split.training = training_windows(config, tokenizer, *split.train.text, split.train.sequences.get());
  require_input(split.validation.tokens != 1,
                "the validation part has 1 token, expected 2 or more; raise data.val_fraction, or set it to 0 to train without it");
  return split;
}

void set_stride(EvaluationText& text, const Config& config, index stride) {
  require_input(text.text != nullptr && !by_document(config), "a stride needs one stream of text, but the model reads ",
                text.text == nullptr ? "pairs or conversations" : "separate documents (data.pack)");
  text.samples = std::make_unique<SequentialWindows>(*text.text, config.data.window, stride);
}

}  // namespace dikkat
