#include "train/text/hugging_face/vocabulary_json.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/system/json.h"
#include "train/text/byte_level.h"

namespace dikkat {

nlohmann::ordered_json ids_by_token(const BpeVocabulary& vocabulary, index count) {
  nlohmann::ordered_json::object_t ids;  // in the order of ids; filled directly, as operator[] searches linearly
  for (Token id = 0; id < count; ++id) {
    ids.emplace_back(vocabulary.text_of(id), id);
  }
  return ids;
}

namespace {

/// Receives an object of ids by token.
class IdWalker : public JsonWalker {
 public:
  /// Ids of `most` or more leave many ids without a token.
  IdWalker(std::vector<std::string>& tokens, std::size_t most) : tokens_(tokens), most_(most) {}

  bool is_right = true;
  std::string problem{};  // names the first invalid token

  void on_object() override { is_right = is_right && level_++ == 0; }
  void on_key(std::string_view key) override { key_ = key; }
  void on_object_end() override { --level_; }
  void on_array() override { is_right = false; }
  void on_array_end() override {}
  void on_text(std::string_view /*text*/) override { is_right = false; }
  void on_number(std::optional<std::uint64_t> number) override {
    is_right = is_right && level_ == 1 && number;
    if (!is_right || !problem.empty()) {
      return;
    }
    if (*number >= most_) {
      problem = concat("the token \"", key_, "\" has the id ", *number, ", expected one of 0 to ", most_ - 1);
    } else if (key_.empty()) {
      problem = concat("the token ", *number, " is empty");
    } else {
      tokens_.resize(std::max(tokens_.size(), static_cast<std::size_t>(*number) + 1));
      std::string& place = tokens_[static_cast<std::size_t>(*number)];
      problem = place.empty() ? "" : concat("two tokens have the id ", *number);
      place = key_;
    }
  }
  void on_other() override { is_right = false; }

 private:
  std::vector<std::string>& tokens_;
  std::size_t most_;
  std::string key_;
  int level_ = 0;
};

/// Receives an array of merges.
class MergeWalker : public JsonWalker {
 public:
  using OnMerge = std::function<void(std::string_view, std::string_view, std::size_t)>;
  explicit MergeWalker(const OnMerge& on_merge) : on_merge_(on_merge) {}

  void on_object() override { refuse("an object"); }
  void on_key(std::string_view /*key*/) override {}
  void on_object_end() override {}
  void on_array() override {
    require_input(++level_ <= 2, "tokenizer: merge ", i_, " is an array of arrays", kExpected);
    sides_ = 0;
  }
  void on_array_end() override {
    if (--level_ == 1) {
      require_input(sides_ == 2, "tokenizer: merge ", i_, " has ", sides_, " tokens", kExpected);
      on_merge_(left_, right_, i_++);
    }
  }
  void on_text(std::string_view text) override {
    if (level_ == 2) {
      (sides_ == 0 ? left_ : right_) = text;
      require_input(++sides_ <= 2, "tokenizer: merge ", i_, " has more than two tokens", kExpected);
      return;
    }
    require_input(level_ == 1, "tokenizer: its merges are not a JSON array");
    const auto [left, right] = sides_of_merge(text, i_);
    on_merge_(left, right, i_++);
  }
  void on_number(std::optional<std::uint64_t> number) override { refuse(number ? concat(*number) : "a number"); }
  void on_other() override { refuse("true, false or null"); }

 private:
  static constexpr const char* kExpected = R"(, expected "LEFT RIGHT" or ["LEFT", "RIGHT"])";

  void refuse(const std::string& what) const {
    require_input(level_ > 0, "tokenizer: its merges are not a JSON array");
    fail_input("tokenizer: merge ", i_, level_ == 1 ? " is " : " has ", what, kExpected);
  }

  const OnMerge& on_merge_;
  std::string left_, right_;
  std::size_t i_ = 0;
  int level_ = 0, sides_ = 0;
};

/// Throws InputError for JSON that is not an object of ids by token.
[[noreturn]] void refuse_ids(std::string_view json, std::size_t added) {
  const nlohmann::json ids = parse_json_object(json, "tokenizer: its vocabulary", "a JSON object of ids by token", {});
  for (const auto& [text, value] : ids.items()) {
    require_input(value.is_number_integer() && value >= 0 && value < 1 << 30, "tokenizer: the token \"", text, "\" has the id ",
                  json_text(value), ", expected one of 0 to ", ids.size() + added - 1);
  }
  fail_input("tokenizer: its vocabulary is not a JSON object of ids by token");
}

}  // namespace

TokenTexts token_texts(std::vector<std::string> tokens) {
  TokenTexts texts{.tokens = std::move(tokens)};
  texts.ids.reserve(texts.tokens.size());
  for (std::size_t id = 0; id < texts.tokens.size(); ++id) {
    const std::string& text = texts.tokens[id];
    require_input(text.empty() || texts.ids.emplace(text, static_cast<Token>(id)).second, "tokenizer: two tokens are spelled \"", text,
                  '"');
  }
  return texts;
}

VocabularyIds::VocabularyIds(std::string_view json, std::size_t added) {
  // An id may be unused: models reserve some.
  const auto tokens = static_cast<std::size_t>(std::ranges::count(json, '"')) / 2;
  std::vector<std::string> by_id;
  by_id.reserve(tokens);
  IdWalker walker(by_id, 2 * (tokens + added) + 1000);
  const bool is_json = walk_json(json, walker) == 0;
  if (!is_json || !walker.is_right) {
    require_input(!json.empty(), "tokenizer: it has no vocabulary, expected a JSON object of ids by token");
    refuse_ids(json, added);
  }
  require_input(walker.problem.empty(), "tokenizer: ", walker.problem);
  require_input(!by_id.empty(), "tokenizer: its vocabulary is empty, expected a JSON object of ids by token");
  texts_ = token_texts(std::move(by_id));
}

std::optional<Token> VocabularyIds::find(std::string_view text) const {
  const auto found = texts_.ids.find(text);
  return found == texts_.ids.end() ? std::nullopt : std::optional(found->second);
}

void read_merges(std::string_view json, const std::function<void(std::string_view, std::string_view, std::size_t)>& f) {
  require_input(json.starts_with('['), "tokenizer: its merges are not a JSON array");
  MergeWalker walker(f);
  const std::size_t wrong = walk_json(json, walker);
  require_input(wrong == 0, "tokenizer: its merges are not valid JSON near byte ", wrong, " of them");
}

std::pair<std::string_view, std::string_view> sides_of_merge(std::string_view line, std::size_t i) {
  const std::size_t space = line.find(' ');
  require_input(space != std::string_view::npos && line.find(' ', space + 1) == std::string_view::npos, "tokenizer: merge ", i, " is \"",
                line, "\", expected two tokens with a space between");
  return {line.substr(0, space), line.substr(space + 1)};
}

void require_same_ids(const VocabularyIds& ids, const AddedTokens& added_tokens) {
  for (const auto& [id, token] : added_tokens) {
    const std::string text = static_cast<std::size_t>(id) < ids.tokens().size() ? ids.tokens()[static_cast<std::size_t>(id)] : "";
    require_input(text.empty() || text == token.name, "tokenizer: the id ", id, " is that of the added token \"", token.name,
                  "\", but in the vocabulary it is that of \"", text, '"');
    const auto known = ids.find(token.name);
    require_input(!known || *known == id, "tokenizer: the added token \"", token.name, "\" has the id ", id,
                  ", but in the vocabulary it has ", known.value_or(0));
  }
}

Token side_of_merge(const VocabularyIds& ids, const AddedTokens& added_tokens, std::string_view text, std::size_t i) {
  const auto found = ids.find(text);
  require_input(found && !added_tokens.contains(*found), "tokenizer: merge ", i, " has the token \"", text, "\", which is ",
                !found ? "not in the vocabulary" : "an added token, expected a token of text");
  return *found;
}

VocabularyReader::VocabularyReader(const VocabularyIds& ids, const AddedTokens& added_tokens) : ids_(ids), added_tokens_(added_tokens) {
  tokens_.resize(ids.tokens().size());
  for (std::size_t id = 0; id < ids.tokens().size(); ++id) {
    const std::string& text = ids.tokens()[id];
    if (text.empty() || added_tokens.contains(static_cast<Token>(id))) {
      continue;
    }
    const auto bytes = byte_level::to_bytes(text);
    require_input(bytes && !bytes->empty(), "tokenizer: the token \"", text,
                  "\" is not written in the characters of byte-level BPE, expected a vocabulary of that kind");
    tokens_[id] = *bytes;
  }
  while (!tokens_.empty() && tokens_.back().empty()) {  // ids of added tokens
    tokens_.pop_back();
  }
  require_same_ids(ids, added_tokens);
}

Merge VocabularyReader::merge_of(std::string_view left, std::string_view right, std::size_t i) const {
  return {side_of_merge(ids_, added_tokens_, left, i), side_of_merge(ids_, added_tokens_, right, i)};
}

Merge VocabularyReader::merge_of(std::string_view line, std::size_t i) const {
  const auto [left, right] = sides_of_merge(line, i);
  return merge_of(left, right, i);
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
