#include "train/data/corpus/file_kind.h"

#include <algorithm>
#include <array>

#include "autograd/base/error.h"

namespace dikkat {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kModel = "it holds weights, not text: `dikkat inspect FILE` shows them";
constexpr std::string_view kOffice = "save its text, or a spreadsheet as CSV in UTF-8, from the program that made it";

// A longer magic comes before a shorter one that it begins with.
constexpr FileKind kKinds[] = {
    {"PAR1"sv, 0, "a Parquet table",
     "convert it to JSONL: python3 -c \"import pandas; pandas.read_parquet('FILE').to_json('FILE.jsonl', orient='records', lines=True, "
     "force_ascii=False)\""},
    {"ARROW1"sv, 0, "an Arrow table",
     "convert it to JSONL: python3 -c \"import pandas; pandas.read_feather('FILE').to_json('FILE.jsonl', orient='records', lines=True, "
     "force_ascii=False)\""},
    {"Obj\x01"sv, 0, "an Avro table", "convert it to JSONL"},
    {"BZh"sv, 0, "compressed with bzip2", "decompress it: bunzip2 --keep 'FILE'"},
    {"\xFD"
     "7zXZ\0"sv,
     0, "compressed with xz", "decompress it: unxz --keep 'FILE'"},
    {"\x04\x22\x4D\x18"sv, 0, "compressed with LZ4", "decompress it: unlz4 --keep 'FILE'"},
    {"\x1F\x8B\x08"sv, 0, "compressed with gzip", "decompress it: gunzip --keep 'FILE'"},
    {"\x28\xB5\x2F\xFD"sv, 0, "compressed with zstd", "decompress it: unzstd --keep 'FILE'"},
    {"PK\x03\x04"sv, 0, "a ZIP archive (.zip, .xlsx, .docx, .epub, .npz ...)",
     "unpack it: unzip 'FILE' -d 'FILE.d'; save a spreadsheet as CSV in UTF-8 from the program that made it; convert a document to text: "
     "pandoc 'FILE' -t plain -o 'FILE.txt'"},
    {"7z\xBC\xAF\x27\x1C"sv, 0, "a 7z archive", "unpack it: 7z x 'FILE'"},
    {"Rar!\x1A\x07"sv, 0, "a RAR archive", "unpack it: unrar x 'FILE'"},
    {"ustar"sv, 257, "a tar archive", "unpack it: tar -xf 'FILE'"},
    {"%PDF-"sv, 0, "a PDF document", "convert it to text: pdftotext 'FILE' 'FILE.txt'"},
    {"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"sv, 0, "an old Office document", kOffice},
    {"{\\rtf"sv, 0, "an RTF document", "convert it to text: pandoc 'FILE' -t plain -o 'FILE.txt'"},
    {"\x93NUMPY"sv, 0, "a NumPy array (.npy)",
     "if it holds token ids, write them as a token file: python3 -c \"import numpy; numpy.load('FILE').astype('<u4').tofile('FILE.bin')\""},
    {"\x89HDF\r\n\x1A\n"sv, 0, "an HDF5 file", "if it is a checkpoint: dikkat inspect FILE"},
    {"SQLite format 3\0"sv, 0, "an SQLite database", "export its texts as JSONL"},
    {"GGUF"sv, 0, "a GGUF model", kModel},
    {"version https://git-lfs.github.com/spec/"sv, 0, "a Git LFS pointer, which stands for a file that was not downloaded",
     "get the file: git lfs pull"},
    {"\x89PNG\r\n\x1A\n"sv, 0, "an image", "only text can be learned"},
    {"\xFF\xD8\xFF"sv, 0, "an image", "only text can be learned"},
    {"GIF8"sv, 0, "an image", "only text can be learned"},
    {"\x7F"
     "ELF"sv,
     0, "a program", "only text can be learned"},
};

}  // namespace

std::string with_file_name(std::string_view advice, const std::string& name) {
  constexpr std::string_view kFile = "FILE";
  const bool has_name = name.starts_with('/') && name.find_first_of("'\"\\") == std::string::npos;
  std::string text(advice);
  for (std::size_t at = text.find(kFile); has_name && at != std::string::npos; at = text.find(kFile, at + name.size())) {
    text.replace(at, kFile.size(), name);
  }
  return text;
}

const FileKind* kind_of_file(std::string_view begin) {
  const auto* const found = std::ranges::find_if(
      kKinds, [&](const FileKind& kind) { return begin.size() >= kind.offset && begin.substr(kind.offset).starts_with(kind.magic); });
  return found == std::end(kKinds) ? nullptr : found;
}

std::string_view wide_encoding(std::string_view text) {
  const std::string_view some = text.substr(0, std::min<std::size_t>(text.size(), 1U << 16U));
  if (some.starts_with("\xFF\xFE\0\0"sv) || some.starts_with("\0\0\xFE\xFF"sv)) {
    return "UTF-32";
  }
  if (some.starts_with("\xFF\xFE") || some.starts_with("\xFE\xFF")) {
    return "UTF-16";
  }
  std::array<double, 4> nuls{};  // NUL bytes, by position in a group of four bytes
  for (std::size_t i = 0; i < some.size(); ++i) {
    nuls.at(i % 4) += some[i] == '\0' ? 1 : 0;
  }
  constexpr double kNearlyAll = 0.95, kFew = 0.01, kSome = 0.02;  // in UTF-16 at least the spaces and line ends have a NUL byte
  const double groups = static_cast<double>(some.size()) / 4;
  const double even = nuls[0] + nuls[2], odd = nuls[1] + nuls[3];
  const auto enough = [&](double count) { return count >= std::max(4.0, 2 * kSome * groups); };
  const auto all = [&](std::size_t place) { return groups >= 4 && nuls.at(place) >= kNearlyAll * groups; };
  return all(2) && all(3) && nuls[0] <= kFew * groups   ? "UTF-32LE"
         : all(0) && all(1) && nuls[3] <= kFew * groups ? "UTF-32BE"
         : enough(odd) && even <= kFew * odd            ? "UTF-16LE"
         : enough(even) && odd <= kFew * even           ? "UTF-16BE"
                                                        : "";
}

std::string advice_on_encoding(std::string_view encoding, const std::string& name) {
  return concat("convert it to UTF-8: ", with_file_name(concat("iconv -f ", encoding, " -t UTF-8 'FILE' > 'FILE.txt'"), name));
}

void refuse_kind(const FileKind& kind, const std::string& name, const char* expected) {
  fail_input("corpus: ", name, " is ", kind.what, ", expected ", expected, "; ", with_file_name(kind.advice, name));
}

}  // namespace dikkat
