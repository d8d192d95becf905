#include "train/text/string_counts.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include <tsl/robin_set.h>

#include "autograd/base/error.h"

namespace dikkat {

/// The table of strings. Bytes and entries are in large chunks, so that growth never copies them and their memory is returned to the
/// system. The set holds the indices of entries.
struct StringCounts::Table {
  struct Entry {
    std::uint64_t times;
    const char* bytes;
    std::uint32_t size;

    std::string_view string() const { return {bytes, size}; }
  };
  struct View {
    const Table* table;
    std::string_view operator()(std::uint32_t entry) const { return table->entry(entry).string(); }
    std::string_view operator()(std::string_view string) const { return string; }
  };
  struct Hash : View {
    template <class Key>
    std::size_t operator()(const Key& key) const {
      return std::hash<std::string_view>()(View::operator()(key));
    }
  };
  struct Equal : View {
    using is_transparent = void;
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      return View::operator()(a) == View::operator()(b);
    }
  };

  static constexpr std::size_t kEntries = std::size_t{1} << 16;  // entries in a chunk

  Entry& entry(std::size_t i) const { return entries[i / kEntries][i % kEntries]; }
  void push_back(const Entry& new_entry) {
    if (count == entries.size() * kEntries) {
      entries.push_back(std::make_unique<Entry[]>(kEntries));
    }
    entry(count++) = new_entry;
  }

  const char* keep(std::string_view string) {
    constexpr std::size_t kChunk = std::size_t{1} << 20;
    if (chunks.empty() || string.size() > room) {
      room = std::max(kChunk, string.size());
      chunks.push_back(std::make_unique<char[]>(room));
      next = chunks.back().get();
    }
    char* const at = next;
    std::memcpy(at, string.data(), string.size());
    next += string.size();
    room -= string.size();
    bytes += static_cast<index>(string.size());
    return at;
  }

  std::vector<std::unique_ptr<char[]>> chunks;
  char* next = nullptr;
  std::size_t room = 0;  // bytes that are free at `next`
  index bytes = 0;
  std::vector<std::unique_ptr<Entry[]>> entries;
  std::size_t count = 0;
  tsl::robin_set<std::uint32_t, Hash, Equal> index_of{64, Hash{{this}}, Equal{{this}}};
};

StringCounts::StringCounts() : table_(std::make_unique<Table>()) {}
StringCounts::~StringCounts() = default;
StringCounts::StringCounts(StringCounts&&) noexcept = default;
StringCounts& StringCounts::operator=(StringCounts&&) noexcept = default;

void StringCounts::add(std::string_view string, std::uint64_t times) {
  Table& t = *table_;
  if (const auto found = t.index_of.find(string); found != t.index_of.end()) {
    t.entry(*found).times += times;
    return;
  }
  constexpr std::size_t kMost = std::size_t{1} << 32;
  require_input(t.count < kMost - 1 && string.size() < kMost, "the corpus has more than 2^32 different words, or one of 4 GiB");
  t.push_back({times, t.keep(string), static_cast<std::uint32_t>(string.size())});
  t.index_of.insert(static_cast<std::uint32_t>(t.count - 1));
}

void StringCounts::add(const StringCounts& other) {
  other.for_each([this](std::string_view string, std::uint64_t times) { add(string, times); });
}

index StringCounts::distinct() const { return static_cast<index>(table_->count); }
index StringCounts::distinct_bytes() const { return table_->bytes; }

void StringCounts::for_each(const std::function<void(std::string_view, std::uint64_t)>& f) const {
  for (std::size_t i = 0; i < table_->count; ++i) {
    const Table::Entry& entry = table_->entry(i);
    f(entry.string(), entry.times);
  }
}

void StringCounts::forget_places() {
  table_->index_of = decltype(table_->index_of){0, Table::Hash{{table_.get()}}, Table::Equal{{table_.get()}}};
}

}  // namespace dikkat
