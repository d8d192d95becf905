#include "train/cli/skipping_tokenizer.h"

#include "autograd/base/error.h"
#include "train/cli/terminal/text.h"

namespace dikkat {

std::vector<Token> SkippingTokenizer::encode(std::string_view text) const {
  std::vector<Token> tokens;
  const auto append = [&](const std::vector<Token>& more) { tokens.insert(tokens.end(), more.begin(), more.end()); };
  for (;;) {
    try {
      append(inner_.encode(text));
      return tokens;
    } catch (const EncodeError& error) {
      const auto at = static_cast<std::size_t>(error.offset());
      append(inner_.encode(text.substr(0, at)));
      std::size_t end = at + 1;
      while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) {  // the rest of a character of UTF-8
        ++end;
      }
      note(text.substr(at, end - at));
      text.remove_prefix(end);
    }
  }
}

std::string SkippingTokenizer::skipped() const {
  constexpr std::size_t kShown = 10;
  index count = 0;
  std::string list;
  for (const auto& [character, times] : skipped_) {
    count += times;
    list += list.size() < kShown * 8 ? concat(list.empty() ? "" : " ", character) : "";
  }
  return count == 0 ? ""
                    : concat(grouped_digits(count), " (", grouped_digits(static_cast<index>(skipped_.size())),
                             " kinds: ", for_terminal(list), ")");
}

void SkippingTokenizer::note(std::string_view character) const {
  const std::lock_guard lock(mutex_);
  ++skipped_[std::string(character)];
}

}  // namespace dikkat
