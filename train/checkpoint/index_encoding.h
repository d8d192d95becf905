#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dikkat {

// How the index of a checkpoint is written. It is binary, since floats keep their raw bits that way and every length is known before
// what it measures, so that a reader needs no recursion and no more memory than the index has bytes.
//
//   index   = entry*          sorted by (kind, name), no pair twice
//   entry   = need kind:text name:text value:text
//   need    = number          1: a reader that does not know the entry refuses the file; 0: it leaves the entry out
//   text    = number byte*    the number of bytes, and the bytes
//   number  = 8 bytes         little-endian, unsigned or two's complement, or the bits of a double

struct IndexEntry {
  bool required = true;
  std::string_view kind;
  std::string_view name;
  std::string_view value;
};

void append_number(std::string& out, std::uint64_t number);
void append_text(std::string& out, std::string_view text);
void append_entry(std::string& out, const IndexEntry& entry);

/// Reads numbers and texts off the front of a text. Throws InputError where the text ends too early.
class IndexReader {
 public:
  explicit IndexReader(std::string_view text) : rest_(text) {}

  bool at_end() const { return rest_.empty(); }
  std::uint64_t number();
  std::string_view text();

 private:
  std::string_view take(std::uint64_t bytes);

  std::string_view rest_;
};

/// The entries of an index, which refer to its text. Throws InputError, with a text that goes after the file's name, unless the index is
/// as above, with kinds and names that are_storable_name() or paths of them.
std::vector<IndexEntry> entries_of(std::string_view index_text);

}  // namespace dikkat
