#include "train/checkpoint/index_encoding.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <tuple>

#include "autograd/base/error.h"
#include "train/checkpoint/stored_name.h"

namespace dikkat {

static_assert(std::endian::native == std::endian::little, "numbers are copied from memory as they are");

void append_number(std::string& out, std::uint64_t number) { out.append(reinterpret_cast<const char*>(&number), sizeof number); }

void append_text(std::string& out, std::string_view text) {
  append_number(out, text.size());
  out += text;
}

void append_entry(std::string& out, const IndexEntry& entry) {
  append_number(out, entry.required ? 1 : 0);
  append_text(out, entry.kind);
  append_text(out, entry.name);
  append_text(out, entry.value);
}

std::string_view IndexReader::take(std::uint64_t bytes) {
  require_input(bytes <= rest_.size(), "has a malformed index: a part of it reaches beyond its end");
  const std::string_view taken = rest_.substr(0, bytes);
  rest_.remove_prefix(bytes);
  return taken;
}

std::uint64_t IndexReader::number() {
  std::uint64_t value = 0;
  std::memcpy(&value, take(sizeof value).data(), sizeof value);
  return value;
}

std::string_view IndexReader::text() { return take(number()); }

std::vector<IndexEntry> entries_of(std::string_view index_text) {
  constexpr std::size_t kLongestName = 4000;  // a path has several names
  const auto is_printable = [](std::string_view text) {
    return text.size() <= kLongestName && std::none_of(text.begin(), text.end(), is_control);
  };
  const auto key = [](const IndexEntry& entry) { return std::tie(entry.kind, entry.name); };
  std::vector<IndexEntry> entries;
  for (IndexReader reader(index_text); !reader.at_end();) {
    IndexEntry entry;
    const std::uint64_t need = reader.number();
    require_input(need <= 1, "has a malformed index: an entry begins with ", need, ", expected 0 (optional) or 1 (required)");
    entry.required = need == 1;
    entry.kind = reader.text();
    entry.name = reader.text();
    entry.value = reader.text();
    require_input(is_printable(entry.kind) && is_printable(entry.name), "has a malformed index: a name in it is too long or not printable");
    require_input(entries.empty() || key(entries.back()) < key(entry), "has a malformed index: its entries are not sorted, at ", entry.kind,
                  " ", entry.name);
    entries.push_back(entry);
  }
  return entries;
}

}  // namespace dikkat
