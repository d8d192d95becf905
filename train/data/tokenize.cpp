#include "train/data/tokenize.h"

#include <numeric>

#include "train/data/tasks.h"

namespace dikkat {
namespace {

/// The error as the person sees it: by file, and by byte of the file.
[[noreturn]] void refuse(const EncodeError& error, const Passage& passage) {
  fail_input(passage.name, ": byte ", passage.offset + error.offset(), ": ", error.problem());
}

}  // namespace

std::unique_ptr<Tokenizer> make_tokenizer(const TokenizerOptions& options, const Corpus& corpus) {
  const std::vector<Passage> passages = corpus.passages();
  std::vector<std::string_view> texts;
  for (const Passage& passage : passages) {
    texts.push_back(passage.text);
  }
  try {
    return make_tokenizer(options, texts);
  } catch (const EncodeError& error) {
    refuse(error, passages.at(static_cast<std::size_t>(error.document())));
  }
}

TokenStore tokenize(const Tokenizer& tokenizer, std::span<const Passage> passages) {
  std::vector<std::vector<Token>> pieces(passages.size());
  run_tasks(static_cast<index>(passages.size()), [&](index i) {
    const auto at = static_cast<std::size_t>(i);
    try {
      pieces[at] = tokenizer.encode(passages[at].text);
    } catch (const EncodeError& error) {
      refuse(error, passages[at]);
    }
  });

  const std::optional<Token> separator = tokenizer.separator();
  TokenStore store(tokenizer.vocab_size());
  store.reserve(std::accumulate(pieces.begin(), pieces.end(), index{0},
                                [](index sum, const std::vector<Token>& piece) { return sum + static_cast<index>(piece.size()) + 1; }));
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (i > 0 && separator) {
      store.append({&*separator, 1});
    }
    store.append(pieces[i]);
    pieces[i] = {};  // gives its memory back: the next ones are still to be copied
  }
  return store;
}

}  // namespace dikkat
