#include "train/text/guess_encoding.h"

#include <algorithm>
#include <array>

#include "train/text/utf8.h"

namespace dikkat {
namespace {

using namespace std::string_view_literals;

/// An encoding with one byte for each letter, and the bytes of its most common letters beyond ASCII.
struct OneByte {
  std::string_view name, letters;
};

constexpr OneByte kOneByte[] = {
    {"WINDOWS-1251", "\xEE\xE5\xE0\xE8\xED\xF2\xF1\xF0\xE2\xEB"sv},  // Russian: о е а и н т с р в л
    {"KOI8-R", "\xCF\xC5\xC1\xC9\xCE\xD4\xD3\xD2\xD7\xCC"sv},
    {"CP866", "\xAE\xA5\xA0\xA8\xAD\xE2\xE1\xE0\xA2\xAB"sv},
    {"ISO-8859-5", "\xDE\xD5\xD0\xD8\xDD\xE2\xE1\xE0\xD2\xDB"sv},
    {"WINDOWS-1253", "\xE1\xEF\xE9\xE5\xF4\xED\xF3\xE7\xDC\xFC"sv},  // Greek: α ο ι ε τ ν σ η ά ό
    {"WINDOWS-1255", "\xE9\xE5\xE4\xEC\xE0\xF8\xFA\xEE\xF9\xF0"sv},  // Hebrew
    {"WINDOWS-1256", "\xC7\xE1\xED\xE3\xE6\xE4\xD1\xCA\xC8\xC9"sv},  // Arabic
};

/// An encoding whose letters beyond ASCII are pairs of bytes.
struct TwoBytes {
  std::string_view name;
  bool (*is_pair)(unsigned first, unsigned second);
  bool (*is_common)(unsigned first, unsigned second);  // whether the pair is a character that is frequent in the language
};

constexpr bool between(unsigned value, unsigned low, unsigned high) { return low <= value && value <= high; }

// A lambda for each table of pairs. Shift_JIS has single bytes too, for half-width letters, which modern texts do not use.
constexpr TwoBytes kTwoBytes[] = {
    {"EUC-JP", [](unsigned a, unsigned b) { return between(a, 0xA1, 0xF4) && between(b, 0xA1, 0xFE); },
     [](unsigned a, unsigned) { return a == 0xA4 || a == 0xA5 || a == 0xA1; }},  // kana and signs
    {"SHIFT_JIS",
     [](unsigned a, unsigned b) {
       return (between(a, 0x81, 0x9F) || between(a, 0xE0, 0xEF)) && (between(b, 0x40, 0x7E) || between(b, 0x80, 0xFC));
     },
     [](unsigned a, unsigned) { return between(a, 0x81, 0x83); }},  // kana and signs
    {"EUC-KR", [](unsigned a, unsigned b) { return between(a, 0xA1, 0xFD) && between(b, 0xA1, 0xFE); },
     [](unsigned a, unsigned) { return between(a, 0xB0, 0xC8); }},  // Hangul
    {"BIG5", [](unsigned a, unsigned b) { return between(a, 0xA1, 0xF9) && (between(b, 0x40, 0x7E) || between(b, 0xA1, 0xFE)); },
     [](unsigned a, unsigned b) { return between(a, 0xA4, 0xC6) && (between(b, 0x40, 0x7E) || a < 0xB0); }},
    {"GB18030", [](unsigned a, unsigned b) { return between(a, 0x81, 0xFE) && between(b, 0x40, 0xFE) && b != 0x7F; },
     [](unsigned a, unsigned b) { return (between(a, 0xB0, 0xD7) || a == 0xA1 || a == 0xA3) && b >= 0xA1; }},  // hanzi of level 1, signs
};

unsigned byte_at(std::string_view text, std::size_t at) { return static_cast<unsigned char>(text[at]); }

/// Returns the share of a text's pairs that are common in an encoding; 0 if too many bytes are not a pair of it.
double share_of_common(const TwoBytes& encoding, std::string_view text) {
  double pairs = 0, common = 0, broken = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (byte_at(text, at) < 0x80) {
      continue;
    }
    if (at + 1 == text.size() || !encoding.is_pair(byte_at(text, at), byte_at(text, at + 1))) {
      ++broken;
      continue;
    }
    ++pairs;
    common += encoding.is_common(byte_at(text, at), byte_at(text, at + 1)) ? 1 : 0;
    ++at;
  }
  constexpr double kFewBroken = 0.01;  // the text may be cut, or slightly damaged
  return pairs == 0 || broken > kFewBroken * pairs + 1 ? 0 : common / pairs;
}

/// Returns the number of bytes in valid characters of UTF-8, without ASCII.
double bytes_of_utf8(std::string_view text) {
  index bytes = 0;
  for (index at = 0; at < static_cast<index>(text.size());) {
    const utf8::Character one = utf8::decode(text, at);
    at += one.bytes;
    bytes += one.fault == utf8::Fault::none && one.bytes > 1 ? one.bytes : 0;
  }
  return static_cast<double>(bytes);
}

}  // namespace

std::string_view guess_encoding(std::string_view text) {
  text = text.substr(0, std::size_t{1} << 16);
  // Count the bytes beyond ASCII, and those with ASCII on both sides.
  std::array<double, 256> counts{};
  double high = 0, alone = 0, letters = 0;
  const auto is_high = [&](std::size_t at) { return at < text.size() && byte_at(text, at) >= 0x80; };
  for (std::size_t at = 0; at < text.size(); ++at) {
    const unsigned byte = byte_at(text, at);
    letters += between(byte | 0x20U, 'a', 'z') ? 1 : 0;
    if (is_high(at)) {
      counts.at(byte) += 1;
      high += 1;
      alone += (at == 0 || !is_high(at - 1)) && !is_high(at + 1) ? 1 : 0;
    }
  }
  constexpr double kMuch = 0.5;
  if (high == 0 || bytes_of_utf8(text) > kMuch * high) {  // ASCII, or UTF-8 with some damage
    return "";
  }
  // In languages of western Europe such letters are few, and stand among ASCII.
  constexpr double kOftenAlone = 0.4;
  if (alone > kOftenAlone * high && letters > 3 * high) {
    const double turkish = counts[0xFD] + counts[0xFE] + counts[0xF0];  // ı ş ğ, which are rare elsewhere
    return turkish > 0.3 * high ? "WINDOWS-1254" : "WINDOWS-1252";
  }
  // Choose the one-byte encoding whose common letters are most frequent, if they are frequent enough.
  std::string_view best;
  constexpr double kEnoughLetters = 0.5, kEnoughPairs = 0.35;
  double most = kEnoughLetters;
  for (const OneByte& one : kOneByte) {
    double share = 0;
    for (const char letter : one.letters) {
      share += counts.at(static_cast<unsigned char>(letter)) / high;
    }
    if (share > most) {
      most = share;
      best = one.name;
    }
  }
  if (!best.empty()) {
    return best;
  }
  // Otherwise choose a two-byte encoding by its common pairs.
  most = kEnoughPairs;
  for (const TwoBytes& two : kTwoBytes) {
    if (const double share = share_of_common(two, text); share > most) {
      most = share;
      best = two.name;
    }
  }
  return best;
}

}  // namespace dikkat
