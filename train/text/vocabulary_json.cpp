#include "train/text/vocabulary_json.h"

#include <algorithm>
#include <string_view>

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/text/byte_level.h"

namespace dikkat {

nlohmann::ordered_json ids_by_token(const BpeVocabulary& vocabulary, index count) {
  nlohmann::ordered_json::object_t ids;  // in the order of ids; filled directly, as operator[] searches linearly
  for (Token id = 0; id < count; ++id) {
    ids.emplace_back(vocabulary.text_of(id), id);
  }
  return ids;
}

VocabularyReader::VocabularyReader(const nlohmann::json& ids, const AddedTokens& added_tokens) : added_tokens_(added_tokens) {
  require_input(ids.is_object() && !ids.empty(), "tokenizer: its vocabulary is not a JSON object of ids by token");
  const auto most = static_cast<index>(ids.size() + added_tokens.size());
  for (const auto& [text, value] : ids.items()) {
    require_input(value.is_number_integer() && value >= 0 && value < most, "tokenizer: the token \"", text, "\" has the id ", value.dump(),
                  ", expected one of 0 to ", most - 1);
    const auto id = value.get<std::size_t>();
    ids_.emplace(text, static_cast<Token>(id));
    if (const auto added = added_tokens.find(static_cast<Token>(id)); added != added_tokens.end()) {
      require_input(added->second.name == text, "tokenizer: the id ", id, " is that of the added token \"", added->second.name,
                    "\", but in the vocabulary it is that of \"", text, '"');
      continue;
    }
    const auto bytes = byte_level::to_bytes(text);
    require_input(bytes && !bytes->empty(), "tokenizer: the token \"", text,
                  "\" is not written in the characters of byte-level BPE, expected a vocabulary of that kind");
    tokens_.resize(std::max(tokens_.size(), id + 1));
    require_input(tokens_[id].empty(), "tokenizer: two tokens have the id ", id);
    tokens_[id] = *bytes;
  }
  for (const auto& [id, token] : added_tokens) {
    const auto known = ids_.find(token.name);
    require_input(known == ids_.end() || known->second == id, "tokenizer: the added token \"", token.name, "\" has the id ", id,
                  ", but in the vocabulary it has ", known == ids_.end() ? 0 : known->second);
  }
}

Token VocabularyReader::id_of(const std::string& text, std::size_t i) const {
  const auto found = ids_.find(text);
  require_input(found != ids_.end() && !added_tokens_.contains(found->second), "tokenizer: merge ", i, " has the token \"", text,
                "\", which is ", found == ids_.end() ? "not in the vocabulary" : "an added token, expected a token of text");
  return found->second;
}

Merge VocabularyReader::merge_of(const std::string& left, const std::string& right, std::size_t i) const {
  return {id_of(left, i), id_of(right, i)};
}

Merge VocabularyReader::merge_of(const std::string& line, std::size_t i) const {
  const std::size_t space = line.find(' ');
  require_input(space != std::string::npos && line.find(' ', space + 1) == std::string::npos, "tokenizer: merge ", i, " is \"", line,
                "\", expected two tokens with a space between");
  return merge_of(line.substr(0, space), line.substr(space + 1), i);
}

Bpe VocabularyReader::bpe(std::vector<Merge> merges, bool ignore_merges) && {
  std::unordered_map<std::string_view, std::size_t> by_bytes;
  for (std::size_t id = 0; id < tokens_.size(); ++id) {
    by_bytes.emplace(tokens_[id], id);
  }
  std::vector<bool> is_made(tokens_.size(), ignore_merges);
  for (const Merge& merge : merges) {
    const auto merged = by_bytes.find(tokens_[static_cast<std::size_t>(merge.left)] + tokens_[static_cast<std::size_t>(merge.right)]);
    if (merged != by_bytes.end()) {
      is_made[merged->second] = true;
    }
  }
  index missing = 0;
  std::size_t first = 0;
  for (std::size_t id = tokens_.size(); id-- > 0;) {
    if (tokens_[id].size() > 1 && !is_made[id]) {
      ++missing;
      first = id;
    }
  }
  require_input(missing == 0, "tokenizer: no merge gives ", missing, " of its tokens, first \"",
                missing == 0 ? "" : byte_level::to_text(tokens_[first]), "\" (", first,
                "); the merges may be cut off: get the whole file again");
  return Bpe(std::move(tokens_), std::move(merges), ignore_merges);
}

}  // namespace dikkat
