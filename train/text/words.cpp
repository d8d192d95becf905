#include "train/text/words.h"

namespace dikkat {

index stable_words(std::string_view text) {
  for (auto at = static_cast<index>(text.size()) - utf8::incomplete_tail(text); at > 0;) {
    const index before = utf8::snap(text, at - 1);
    const utf8::Character character = utf8::decode(text, before);
    if (character.fault == utf8::Fault::none && utf8::is_white_space(character.code_point)) {
      return at;
    }
    at = before;
  }
  return 0;
}

index stable_spaced_words(std::string_view text) {
  constexpr std::string_view kEnds = " \n";
  for (std::size_t at = text.find_last_of(kEnds); at != std::string_view::npos && at > 0; at = text.find_last_of(kEnds, at - 1)) {
    if (kEnds.find(text[at - 1]) == std::string_view::npos) {
      return static_cast<index>(at);
    }
  }
  return 0;
}

bool is_one_word(std::string_view text) {
  bool is_whole = false;
  for_words(text, true, [&](std::string_view word) { is_whole = word.size() == text.size(); });
  return is_whole;
}

}  // namespace dikkat
