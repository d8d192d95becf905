#include "train/text/added_token_finder.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "autograd/base/error.h"
#include "train/text/unicode.h"
#include "train/text/utf8.h"

namespace dikkat {
namespace {

index bytes_of(std::string_view text) { return static_cast<index>(text.size()); }

/// Return the character before byte `at`, or after it; 0 if there is none.
utf8::Character character_before(std::string_view text, index at) {
  return at == 0 ? utf8::Character() : utf8::decode(text, utf8::snap(text, at - 1));
}
utf8::Character character_at(std::string_view text, index at) { return at == bytes_of(text) ? utf8::Character() : utf8::decode(text, at); }

bool is_space(utf8::Character character) { return character.bytes > 0 && utf8::is_white_space(character.code_point); }
bool is_of_word(utf8::Character character) { return character.bytes > 0 && is_word_character(character.code_point); }

bool has_space(std::string_view text) {
  for (index at = 0; at < bytes_of(text); at += utf8::decode(text, at).bytes) {
    if (is_space(utf8::decode(text, at))) {
      return true;
    }
  }
  return false;
}

std::string_view part(std::string_view text, index first, index last) {
  return text.substr(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first));
}

/// Returns whether a range lies within one of `ranges`.
bool is_within(std::span<const ByteRange> ranges, ByteRange wanted) {
  const auto after =
      std::upper_bound(ranges.begin(), ranges.end(), wanted.first, [](index at, const ByteRange& range) { return at < range.first; });
  return after != ranges.begin() && wanted.last <= std::prev(after)->last;
}

/// Returns the parts of `ranges` that lie within `bounds`, counted from its beginning.
std::vector<ByteRange> clipped(std::span<const ByteRange> ranges, ByteRange bounds) {
  std::vector<ByteRange> inside;
  for (const ByteRange& range : ranges) {
    const index first = std::max(range.first, bounds.first), last = std::min(range.last, bounds.last);
    if (first < last) {
      inside.push_back({.first = first - bounds.first, .last = last - bounds.first});
    }
  }
  return inside;
}

void join(std::string_view name, std::set<std::pair<char32_t, char32_t>>& joined) {
  char32_t before = 0;
  for (index at = 0; at < bytes_of(name);) {
    const utf8::Character character = utf8::decode(name, at);
    if (at > 0) {
      joined.emplace(before, character.code_point);
    }
    before = character.code_point;
    at += character.bytes;
  }
}

}  // namespace

AddedTokenFinder::AddedTokenFinder(const AddedTokens& tokens, TextNormalizer normalizer) : normalizer_(std::move(normalizer)) {
  constexpr std::size_t kLongest = 1024;  // limits the worst case of a search, which is proportional to it
  std::set<std::string_view> names;
  for (const auto& [id, token] : tokens) {
    require_input(!token.name.empty() && token.name.size() <= kLongest && !utf8::first_invalid(token.name), "tokenizer: the added token ",
                  id, " has a name of ", token.name.size(), " bytes, expected 1 to ", kLongest, " bytes of UTF-8");
    require_input(names.insert(token.name).second, "tokenizer: two added tokens are called ", token.name);
    Patterns& patterns = token.normalized ? normalized_ : as_is_;
    patterns.sorted.push_back({token.normalized ? normalizer_(token.name) : token.name, id, token});
    const std::string& name = patterns.sorted.back().name;
    require_input(!name.empty(), "tokenizer: the added token ", token.name, " is empty once it is normalized");
    patterns.is_first[static_cast<unsigned char>(name.front())] = true;
    join(name, patterns.joined);
    if (!token.special) {
      finds_always_ = true;
      strips_ = strips_ || token.lstrip || token.rstrip;
      depends_ = depends_ || token.lstrip || token.rstrip || token.single_word;
      is_local_ = is_local_ && !token.lstrip && !token.rstrip && !token.single_word && !has_space(token.name);
    }
  }
  for (Patterns* const patterns : {&as_is_, &normalized_}) {
    std::vector<Pattern>& sorted = patterns->sorted;
    std::sort(sorted.begin(), sorted.end(), [](const Pattern& a, const Pattern& b) { return a.name < b.name; });
    const auto twin = std::adjacent_find(sorted.begin(), sorted.end(), [](const Pattern& a, const Pattern& b) { return a.name == b.name; });
    require_input(twin == sorted.end(), "tokenizer: two added tokens are called ", twin == sorted.end() ? "" : twin->name,
                  " once they are normalized");
    for (const Pattern& pattern : sorted) {
      ++patterns->begin[static_cast<unsigned char>(pattern.name.front()) + std::size_t{1}];
    }
    std::partial_sum(patterns->begin.begin(), patterns->begin.end(), patterns->begin.begin());
  }
}

const AddedTokenFinder::Pattern* AddedTokenFinder::longest_at(const Patterns& patterns, std::string_view text) {
  if (!patterns.is_first[static_cast<unsigned char>(text.front())]) {
    return nullptr;
  }
  const Pattern* longest = nullptr;
  const auto byte0 = static_cast<unsigned char>(text.front());
  auto first = patterns.sorted.begin() + patterns.begin[byte0];  // [first, last): the names that begin with the bytes so far
  auto last = patterns.sorted.begin() + patterns.begin[byte0 + std::size_t{1}];
  if (first->name.size() == 1) {
    longest = &*first;
  }
  for (std::size_t i = 1; i < text.size() && first != last; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto byte_of = [i](const Pattern& pattern) { return static_cast<unsigned char>(pattern.name[i]); };
    if (first->name.size() == i) {  // the shortest comes first
      ++first;
    }
    first = std::lower_bound(first, last, byte, [&](const Pattern& pattern, unsigned char b) { return byte_of(pattern) < b; });
    last = std::upper_bound(first, last, byte, [&](unsigned char b, const Pattern& pattern) { return b < byte_of(pattern); });
    if (first != last && first->name.size() == i + 1) {
      longest = &*first;
    }
  }
  return longest;
}

void AddedTokenFinder::find(const Patterns& patterns, std::string_view text, std::span<const ByteRange> markup,
                            const std::function<void(std::string_view)>& on_text, const std::function<void(Token)>& on_token) const {
  index done = 0;
  for (index at = 0; at < bytes_of(text);) {
    const Pattern* const found = longest_at(patterns, text.substr(static_cast<std::size_t>(at)));
    if (found == nullptr) {
      ++at;
      continue;
    }
    index first = at;
    index last = at + bytes_of(found->name);
    at = last;  // a name that does not count here still hides the names that overlap it
    // Skip special tokens outside of markup, and single words within a longer word.
    if (found->flags.special && !is_within(markup, {first, last})) {
      continue;
    }
    if (found->flags.single_word && (is_of_word(character_before(text, first)) || is_of_word(character_at(text, last)))) {
      continue;
    }
    // Take the white space around the token, as its flags demand.
    if (found->flags.lstrip) {
      while (first > done && is_space(character_before(text, first))) {
        first -= character_before(text, first).bytes;
      }
    }
    if (found->flags.rstrip) {
      while (is_space(character_at(text, last))) {
        last += character_at(text, last).bytes;
      }
    }
    // Report the text before the token, then the token.
    if (done < first) {
      on_text(part(text, done, first));
    }
    on_token(found->id);
    done = last;
  }
  if (done < bytes_of(text)) {
    on_text(part(text, done, bytes_of(text)));
  }
}

void AddedTokenFinder::split(std::string_view text, std::span<const ByteRange> markup, const std::function<void(std::string_view)>& on_text,
                             const std::function<void(Token)>& on_token) const {
  const bool finds = !markup.empty() || finds_always_;
  // Search the normalized text of a part.
  const auto on_normalized = [&](std::string_view some, std::span<const ByteRange> some_markup) {
    if (normalized_.sorted.empty() || !finds) {
      on_text(some);
    } else {
      find(normalized_, some, some_markup, on_text, on_token);
    }
  };
  const auto on_part = [&](std::string_view some) {
    const auto first = static_cast<index>(some.data() - text.data());
    const std::vector<ByteRange> inside = clipped(markup, {first, first + bytes_of(some)});
    if (normalizer_.is_empty()) {
      return on_normalized(some, inside);
    }
    if (inside.empty() || normalized_.sorted.empty()) {
      return on_normalized(normalizer_(some), {});
    }
    // Normalize the part, and move its markup with the text.
    std::vector<index> marks;
    for (const ByteRange& range : inside) {
      marks.push_back(range.first);
      marks.push_back(range.last);
    }
    const std::string normal = normalizer_(some, marks);
    std::vector<ByteRange> moved;
    for (std::size_t i = 0; i < marks.size(); i += 2) {
      moved.push_back({.first = marks[i], .last = marks[i + 1]});
    }
    on_normalized(normal, moved);
  };
  // Search the original text first.
  if (as_is_.sorted.empty() || !finds) {
    on_part(text);
  } else {
    find(as_is_, text, markup, on_part, on_token);
  }
}

}  // namespace dikkat
