#include "train/checkpoint/header.h"

#include <charconv>

#include "autograd/base/error.h"
#include "train/system/format_numbers.h"

namespace dikkat {

namespace {

constexpr std::string_view kMagic = "dikkat checkpoint\n";
constexpr std::string_view kHdf5Magic = "\x89HDF\r\n\x1a\n";
constexpr std::size_t kHashAt = kHeaderBytes - 64;

/// Takes "key value\n" off the front of `text`; false if it is not there.
bool take(std::string_view& text, std::string_view key, index& value) {
  if (!text.starts_with(key)) {
    return false;
  }
  text.remove_prefix(key.size());
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end == text.data() + text.size() || *end != '\n') {
    return false;
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
  return true;
}

bool take_digest(std::string_view& text, std::string_view key, Digest& digest) {
  if (!text.starts_with(key) || text.size() < key.size() + 2 * digest.size()) {
    return false;
  }
  text.remove_prefix(key.size());
  for (std::size_t i = 0; i < digest.size(); ++i) {
    const char* digits = text.data() + 2 * i;
    if (std::from_chars(digits, digits + 2, digest[i], 16).ptr != digits + 2) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::string render_header(const Header& header) {
  std::string block = concat(kMagic, "format ", header.format, "\nlength ", header.length, "\nstep ", header.step, "\nindex ",
                             header.index_begin, "\nroot ", to_hex(header.root), "\n\nAn HDF5 file begins at byte ", kHeaderBytes,
                             ": h5dump and h5py open this file as it is.\n"  // part of format 3, like the next line
                             "`dikkat inspect` shows what is in it, `dikkat verify` checks every byte.\n");
  block.resize(kHashAt);
  return block + to_hex(sha256(block));
}

Header parse_header(std::string_view block) {
  require_input(!block.empty(), "is empty, expected a dikkat checkpoint");
  require_input(!block.starts_with(kHdf5Magic), "is an HDF5 file but not a dikkat checkpoint");
  require_input(block.starts_with(kMagic.substr(0, block.size())),
                "is not a dikkat checkpoint; expected a file that dikkat train wrote, such as RUN_DIR/checkpoints/step-000001000.h5");
  require_input(block.size() >= std::size_t{kHeaderBytes}, "is truncated: ", grouped_digits(static_cast<index>(block.size())),
                " bytes, expected at least the header's ", grouped_digits(kHeaderBytes));
  block = block.substr(0, kHeaderBytes);
  require_input(block.substr(kHashAt) == to_hex(sha256(block.substr(0, kHashAt))),
                "was altered: the checksum of its header does not match");

  Header header;
  std::string_view text = block.substr(kMagic.size());
  require_input(take(text, "format ", header.format) && header.format >= 1, "has a header without a format number");
  require_input(header.format <= kFormat, "was written by a newer dikkat (format ", header.format, "; this program reads format ", kFormat,
                "): use that one");
  require_input(header.format == kFormat, "has format ", header.format, ", which no released dikkat wrote; expected format ", kFormat);
  // Comparing with the rendered header checks every byte of the block.
  require_input(take(text, "length ", header.length) && take(text, "step ", header.step) && take(text, "index ", header.index_begin) &&
                    take_digest(text, "root ", header.root) && header.step >= 0 && header.index_begin >= kHeaderBytes &&
                    header.index_begin <= header.length && render_header(header) == block,
                "has a header that does not follow format ", header.format);
  return header;
}

}  // namespace dikkat
