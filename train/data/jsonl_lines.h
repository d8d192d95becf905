#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "train/data/byte_source.h"
#include "train/data/corpus_files.h"

// Lines of .jsonl files. This header is private to its folder.
namespace dikkat {

/// Calls f(line, number) for each line of a text that is not blank, until it returns false.
template <class F>
void for_lines(std::string_view text, F&& f) {
  if (text.starts_with(kByteOrderMark)) {
    text.remove_prefix(kByteOrderMark.size());
  }
  index number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.find_first_not_of(" \t\r") != std::string_view::npos && !f(line, number)) {
      return;
    }
  }
}

/// Returns whether `is_meant` holds for a line of a file. Reads block by block, and no further than needed.
template <class F>
bool has_line(const CorpusFile& file, F&& is_meant) {
  constexpr std::size_t kBlock = std::size_t{1} << 20;
  const auto source = open_bytes(file.path, file.name);
  std::string text;  // begins with a line
  bool found = false;
  for (bool ended = false; !ended && !found;) {
    const std::size_t had = text.size();
    text.resize(had + kBlock);
    const std::size_t got = source->read(text.data() + had, kBlock);
    text.resize(had + got);
    ended = got == 0;
    const std::size_t last = std::string_view(text).substr(had).rfind('\n');
    const std::size_t whole = ended ? text.size() : last == std::string_view::npos ? 0 : had + last + 1;
    for_lines(std::string_view(text).substr(0, whole), [&](std::string_view line, index) { return !(found = is_meant(line)); });
    text.erase(0, whole);
  }
  return found;
}

/// Returns whether a text has the name of a field, given in quotes. This is much faster than parsing a line.
inline bool has_name(std::string_view text, std::string_view quoted) { return text.find(quoted) != std::string_view::npos; }

}  // namespace dikkat
