#include "train/metrics/provenance.h"

#include <string_view>

namespace dikkat {
namespace {

std::string quoted(const std::string& word) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) {
    return word;
  }
  std::string text = "'";
  for (const char c : word) {
    if (c == '\'') {
      text += "'\\''";
    } else {
      text += c;
    }
  }
  return text += '\'';
}

}  // namespace

std::string command_line_of(const Provenance& by) {
  std::string line;
  for (const std::string& word : by.command) {
    line += line.empty() ? "" : " ";
    line += quoted(word);
  }
  return line;
}

}  // namespace dikkat
