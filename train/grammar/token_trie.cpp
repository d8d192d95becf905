#include "train/grammar/token_trie.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <span>

#include "train/text/utf8.h"

namespace dikkat {
namespace {

constexpr std::size_t kLongestText = std::numeric_limits<std::uint16_t>::max();

/// Throws InputError if the text of tokens is not always their texts one after another, or with spaces between them.
void require_known_joints(const Tokenizer& tokenizer, const std::vector<std::string>& texts) {
  const bool has_spaces = tokenizer.puts_spaces_between();
  const Token most = has_spaces ? static_cast<Token>(tokenizer.vocab_size()) : 64;
  const auto line_break = std::ranges::find(texts, "\n");  // spaces may be left out next to it
  Token last = line_break == texts.end() ? -1 : static_cast<Token>(line_break - texts.begin());
  for (Token id = 0, tried = 0; id < tokenizer.vocab_size() && tried < most; ++id) {
    const std::string& text = texts[static_cast<std::size_t>(id)];
    if (text.empty()) {
      continue;
    }
    ++tried;
    if (last >= 0) {
      const std::array tokens{last, id, last};
      const std::string& before = texts[static_cast<std::size_t>(last)];
      const char* const joint = has_spaces && before != "\n" && text != "\n" ? " " : "";
      require_input((has_spaces ? tokenizer.decode(tokens) : tokenizer.decode_inside(tokens)) == concat(before, joint, text, joint, before),
                    "the model's tokenizer, ", tokenizer.kind(), ", changes the text between its tokens ", last, " and ", id,
                    ", so an answer cannot be restricted to a grammar; expected one whose tokens are parts of the text, or words with a "
                    "space between them");
    }
    last = id;
  }
}

}  // namespace

TokenTrie::TokenTrie(const Tokenizer& tokenizer, const std::vector<Token>& marks)
    : vocab_size_(tokenizer.vocab_size()), puts_spaces_(tokenizer.puts_spaces_between()) {
  // Collect the texts of the tokens that can be part of a text.
  const auto size = static_cast<std::size_t>(vocab_size_);
  texts_.resize(size);
  for (Token id = 0; id < vocab_size_; ++id) {
    const std::span one(&id, 1);
    texts_[static_cast<std::size_t>(id)] = puts_spaces_ ? tokenizer.decode(one) : tokenizer.decode_inside(one);
  }
  // Leave out special tokens that are not marks, and tokens that only frame texts.
  const auto leave_out = [&](Token id) {
    if (std::ranges::find(marks, id) == marks.end()) {
      texts_.at(static_cast<std::size_t>(id)).clear();
    }
  };
  for (const SpecialToken& token : tokenizer.special_tokens()) {
    leave_out(token.id);
  }
  const TextTokens around = tokenizer.text_tokens();
  std::vector<Token> special = tokenizer.suppressed_tokens();
  special.insert(special.end(), around.ends.begin(), around.ends.end());
  for (const std::optional<Token>& one : {around.bos, around.eos, around.before, around.after, tokenizer.separator()}) {
    if (one) {
      special.push_back(*one);
    }
  }
  if (const auto around_texts = tokenizer.sequence_tokens()) {
    special.insert(special.end(), {around_texts->pad, around_texts->start, around_texts->end});
  }
  std::ranges::for_each(special, leave_out);
  require_known_joints(tokenizer, texts_);

  find_alphabet();

  // Build the tree from the texts in their order.
  std::vector<Token> order;
  for (Token id = 0; id < vocab_size_; ++id) {
    const std::string& text = texts_[static_cast<std::size_t>(id)];
    if (!text.empty() && text.size() <= kLongestText) {
      order.push_back(id);
    }
  }
  std::ranges::stable_sort(order, {}, [&](Token id) -> const std::string& { return texts_[static_cast<std::size_t>(id)]; });
  // A node's descendants end where a text leaves its path.
  same_.assign(size, -1);
  std::vector<std::size_t> path;  // the nodes of the last text
  const std::string* last = nullptr;
  const auto leave = [&](std::size_t depth) {
    while (path.size() > depth) {
      nodes_[path.back()].after = static_cast<std::int32_t>(nodes_.size());
      path.pop_back();
    }
  };
  for (const Token id : order) {
    // Share the nodes of the bytes that the last text has too.
    const std::string& text = texts_[static_cast<std::size_t>(id)];
    std::size_t equal = 0;
    while (last != nullptr && equal < std::min(last->size(), text.size()) && (*last)[equal] == text[equal]) {
      ++equal;
    }
    leave(equal);
    for (std::size_t at = equal; at < text.size(); ++at) {
      path.push_back(nodes_.size());
      nodes_.push_back({static_cast<std::uint8_t>(text[at]), static_cast<std::uint16_t>(at + 1), -1, 0});
    }
    std::int32_t& token = nodes_[path.back()].token;
    same_[static_cast<std::size_t>(id)] = token;
    token = id;
    last = &text;
    longest_ = std::max(longest_, std::ssize(text));
  }
  leave(0);
}

void TokenTrie::find_alphabet() {
  // Byte-level vocabularies have tokens of single bytes, with which any text of these bytes can be completed. Some lack rare bytes.
  std::array<bool, 256> bytes{};
  bool is_byte_level = false;
  for (const std::string& text : texts_) {
    if (text.size() == 1) {
      const auto byte = static_cast<std::uint8_t>(text[0]);
      bytes[byte] = true;
      is_byte_level = is_byte_level || byte >= 0x80;
    }
  }
  const auto is_written = [&](const std::string& text) {
    return std::ranges::all_of(text, [&](char c) { return bytes[static_cast<std::uint8_t>(c)]; });
  };
  if (is_byte_level) {
    alphabet_.bytes = bytes;
    for (std::string& text : texts_) {
      if (!is_written(text)) {
        text.clear();
      }
    }
    return;
  }
  // Other vocabularies write the characters that are tokens.
  const auto characters_of = [](const std::string& text) {
    std::u32string characters;
    for (index at = 0; at < std::ssize(text);) {
      const utf8::Character one = utf8::decode(text, at);
      if (one.fault != utf8::Fault::none) {
        return std::u32string();
      }
      characters += one.code_point;
      at += one.bytes;
    }
    return characters;
  };
  std::set<char32_t> single;
  for (const std::string& text : texts_) {
    if (const std::u32string characters = characters_of(text); characters.size() == 1) {
      single.insert(characters[0]);
    }
  }
  // If tokens have other characters too, which texts can be written depends on all tokens.
  is_complete_ = !puts_spaces_ && !single.empty();
  for (std::string& text : texts_) {
    const std::u32string characters = characters_of(text);
    text = characters.empty() ? "" : text;
    is_complete_ = is_complete_ && std::ranges::all_of(characters, [&](char32_t one) { return single.contains(one); });
  }
  alphabet_.bytes.fill(true);
  if (is_complete_) {
    alphabet_.characters.assign(single.begin(), single.end());
  }
}

}  // namespace dikkat
