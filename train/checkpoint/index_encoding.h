#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dikkat {

// The encoding of a checkpoint's index is binary, so floats keep their raw bits. Every length comes before its data, so a reader needs no
// recursion and no more memory than the index has bytes.
//
//   index   = entry*          sorted by (kind, name), no pair twice
//   entry   = need kind:text name:text value:text
//   need    = number          1: a reader that does not know the entry must refuse the file; 0: it may ignore the entry
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

/// Reads numbers and texts from the front of a text. Throws InputError if the text ends too early.
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

/// Reads the entries of an index; they are views of its text. Throws InputError for an index that is not encoded as above, or has a kind or
/// name that is too long or not printable. The message continues the file's name.
std::vector<IndexEntry> entries_of(std::string_view index_text);

}  // namespace dikkat
