#include "train/text/string_counts.h"

#include <string>
#include <vector>

#include <tsl/robin_set.h>

#include "autograd/base/error.h"

namespace dikkat {

/// Strings lie one after another; the set holds numbers of entries.
struct StringCounts::Table {
  struct Entry {
    std::uint64_t times;
    std::uint64_t start;
    std::uint32_t size;
  };
  struct View {
    const Table* table;
    std::string_view operator()(std::uint32_t entry) const { return table->string(table->entries[entry]); }
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

  std::string_view string(const Entry& e) const { return std::string_view(bytes).substr(e.start, e.size); }

  std::string bytes;
  std::vector<Entry> entries;
  tsl::robin_set<std::uint32_t, Hash, Equal> index_of{64, Hash{{this}}, Equal{{this}}};
};

StringCounts::StringCounts() : table_(std::make_unique<Table>()) {}
StringCounts::~StringCounts() = default;
StringCounts::StringCounts(StringCounts&&) noexcept = default;
StringCounts& StringCounts::operator=(StringCounts&&) noexcept = default;

void StringCounts::add(std::string_view string, std::uint64_t times) {
  Table& t = *table_;
  if (const auto found = t.index_of.find(string); found != t.index_of.end()) {
    t.entries[*found].times += times;
    return;
  }
  constexpr std::size_t kMost = std::size_t{1} << 32;
  require_input(t.entries.size() < kMost - 1 && string.size() < kMost, "the corpus has more than 2^32 different words, or one of 4 GiB");
  t.entries.push_back({times, t.bytes.size(), static_cast<std::uint32_t>(string.size())});
  t.bytes += string;
  t.index_of.insert(static_cast<std::uint32_t>(t.entries.size() - 1));
}

void StringCounts::add(const StringCounts& other) {
  for (const Table::Entry& entry : other.table_->entries) {
    add(other.table_->string(entry), entry.times);
  }
}

index StringCounts::distinct() const { return static_cast<index>(table_->entries.size()); }
index StringCounts::distinct_bytes() const { return static_cast<index>(table_->bytes.size()); }

void StringCounts::for_each(const std::function<void(std::string_view, std::uint64_t)>& f) const {
  for (const Table::Entry& entry : table_->entries) {
    f(table_->string(entry), entry.times);
  }
}

}  // namespace dikkat
