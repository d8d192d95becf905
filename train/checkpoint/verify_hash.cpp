#include "train/checkpoint/verify_hash.h"

#include <algorithm>
#include <string>

#include "autograd/base/error.h"
#include "train/system/format_numbers.h"

namespace dikkat {

Header read_header(const File& file, index bytes) {
  std::string block(static_cast<std::size_t>(std::min(bytes, kHeaderBytes)), '\0');
  require_done(file.read(0, std::as_writable_bytes(std::span(block))), Operation::read);
  const Header header = parse_header(block);
  require_input(bytes >= header.length, "is truncated: it has ", grouped_digits(bytes), " bytes, expected ", grouped_digits(header.length),
                " according to its header");
  require_input(bytes == header.length, "was altered: it has ", grouped_digits(bytes), " bytes, expected ", grouped_digits(header.length),
                " according to its header");
  return header;
}

Header verify_hash(const File& file, index bytes) {
  const Header header = read_header(file, bytes);
  const Digest found = root_hash(bytes - kHeaderBytes, [&](index offset, std::span<std::byte> out) {
    require_done(file.read(kHeaderBytes + offset, out), Operation::read);
  });
  require_input(found == header.root, "was altered: its checksum does not match its contents");
  return header;
}

}  // namespace dikkat
