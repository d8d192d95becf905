#include "train/text/hugging_face/bpe_files.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/system/placeholder.h"
#include "train/text/hugging_face/vocabulary_json.h"

namespace dikkat {

bool has_gpt2_rules(const BpeVocabulary& vocabulary) {
  return vocabulary.splitter == Splitter::gpt2 && !vocabulary.nfc && !vocabulary.bpe.ignores_merges();
}

Gpt2Files gpt2_files(const BpeVocabulary& vocabulary) {
  require_input(has_gpt2_rules(vocabulary),
                "tokenizer: GPT-2's files cannot hold a tokenizer that splits or normalizes texts by other rules than GPT-2's (",
                name_of(vocabulary.splitter), "); write a tokenizer.json instead");
  Gpt2Files files{.vocab_bpe = "#version: 0.2\n", .encoder_json = ids_by_token(vocabulary, vocabulary.size()).dump(-1, ' ', true)};
  for (const auto& [left, right] : vocabulary.merge_texts()) {
    files.vocab_bpe += concat(left, ' ', right, '\n');
  }
  return files;
}

BpeVocabulary from_gpt2_files(const Gpt2Files& files) {
  require_no_placeholder(files.encoder_json, "tokenizer: its vocabulary");
  const VocabularyIds ids(files.encoder_json, 0);
  AddedTokens added_tokens;
  if (const auto end = ids.find(kEndOfText)) {
    added_tokens.emplace(*end, AddedToken{.name = std::string(kEndOfText), .normalized = true});
  }
  VocabularyReader vocabulary(ids, added_tokens);
  std::vector<Merge> merges;
  std::string_view rest = files.vocab_bpe;
  for (bool first = true; !rest.empty(); first = false) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    }
    if (!line.empty() && !(first && line.starts_with("#version"))) {
      merges.push_back(vocabulary.merge_of(line, merges.size()));
    }
  }
  require_input(!merges.empty(), "tokenizer: its file of merges is empty, expected a merge on each line");
  Bpe bpe = std::move(vocabulary).bpe(std::move(merges), false);
  return {.bpe = std::move(bpe), .added_tokens = std::move(added_tokens)};
}

}  // namespace dikkat
