#include "train/data/tokens/token_file.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "autograd/base/error.h"
#include "train/system/descriptor.h"
#include "train/system/folder.h"
#include "train/system/nameless_file.h"
#include "train/system/sha256.h"

namespace dikkat {
namespace {

static_assert(std::endian::native == std::endian::little, "token files are little endian");

/// The header, at the beginning of the file. The sections follow it, each aligned to 64 bytes: training tokens, validation tokens, and the
/// starts of documents (i64) of both parts.
struct Header {
  std::array<char, 16> magic;
  std::int64_t version;
  std::int64_t vocab_size;
  std::array<std::int64_t, kParts> bytes;
  std::array<std::int64_t, kParts> tokens;
  std::array<std::int64_t, kParts> documents;
  std::array<char, 64> key;
  Digest contents;  // root_hash() of everything after the header
  Digest checksum;  // sha256 of the members above
};
constexpr std::size_t kHeaderBytes = 256;
static_assert(sizeof(Header) <= kHeaderBytes && std::is_trivially_copyable_v<Header>);
constexpr std::array<char, 16> kTokenFileMagic = {'d', 'i', 'k', 'k', 'a', 't', ' ', 't', 'o', 'k', 'e', 'n', 's', '\n', '\x1A', '\0'};
constexpr std::int64_t kVersion = 2;
constexpr std::string_view kUnfinished = ".unfinished";

Digest checksum_of(const Header& header) { return sha256(std::as_bytes(std::span(&header, 1)).first(offsetof(Header, checksum))); }

void read_again(int file, const std::string& path, std::size_t offset, std::span<std::byte> out) {
  const int error = read_all(file, static_cast<index>(offset), out);
  require(error == 0, "token file: cannot read ", path, " again: ", describe_errno(error));
}

/// Returns the root_hash() of a file's contents. The file is read, not mapped, so that it does not count as this process's memory. Sets
/// `sums`, if not null, from the same bytes.
Digest digest_of_contents(int file, const std::string& path, std::size_t bytes, PageSums* sums = nullptr) {
  return root_hash(static_cast<index>(bytes - kHeaderBytes), [&](index offset, std::span<std::byte> out) {
    read_again(file, path, kHeaderBytes + static_cast<std::size_t>(offset), out);
    if (sums != nullptr) {
      sums->set(static_cast<std::size_t>(offset), out);
    }
  });
}

constexpr std::size_t aligned(std::size_t offset) { return (offset + 63) / 64 * 64; }

struct Layout {
  std::array<std::size_t, kParts> tokens, documents;
  std::size_t end;
};
Layout layout_of(const Header& header) {
  const auto width = static_cast<std::size_t>(token_width(header.vocab_size));
  Layout layout{};
  std::size_t at = kHeaderBytes;
  for (std::size_t part = 0; part < kParts; ++part) {
    layout.tokens[part] = aligned(at);
    at = layout.tokens[part] + static_cast<std::size_t>(header.tokens[part]) * width;
  }
  for (std::size_t part = 0; part < kParts; ++part) {
    layout.documents[part] = aligned(at);
    at = layout.documents[part] + static_cast<std::size_t>(header.documents[part]) * sizeof(std::int64_t);
  }
  layout.end = at;
  return layout;
}

/// Returns whether a file of this size can have these counts. Call it first, so that computing the layout cannot overflow.
bool is_possible(const Header& header, std::size_t file_bytes) {
  const auto most = static_cast<std::int64_t>(file_bytes);
  const auto all = [&](const std::array<std::int64_t, kParts>& counts, std::int64_t width) {
    return std::all_of(counts.begin(), counts.end(), [&](std::int64_t count) { return 0 <= count && count <= most / width; });
  };
  return all(header.tokens, token_width(header.vocab_size)) && all(header.documents, sizeof(std::int64_t)) &&
         std::all_of(header.bytes.begin(), header.bytes.end(), [](std::int64_t count) { return count >= 0; });
}

/// Takes an exclusive lock, so that no other process removes the file. Returns 0 or errno. The lock ends with the descriptor, even if the
/// process is killed.
int lock(int file) { return ::flock(file, LOCK_EX | LOCK_NB) == 0 ? 0 : errno; }

/// Returns whether the file is so old that no process can still be writing it. (Locks of other machines may be invisible.)
bool is_old(int file) {
  constexpr auto kDay = std::time_t{24} * 60 * 60;
  struct stat status{};
  return ::fstat(file, &status) == 0 && status.st_mtime < std::time(nullptr) - kDay;
}

/// Returns the paths in the folder; none if it cannot be listed.
std::vector<std::filesystem::path> paths_if_listed(const std::filesystem::path& folder) {
  try {
    return paths_in(folder);
  } catch (const Error&) {
    return {};
  }
}

/// Removes incomplete files that killed programs have left in the folder.
void remove_abandoned(const std::string& path) {
  const std::filesystem::path whole(path);
  const std::string start = whole.filename().string() + ".";
  for (const std::filesystem::path& entry : paths_if_listed(whole.parent_path())) {
    const std::string name = entry.filename().string();
    const bool is_of_a_key = name.find(concat(kTokenFileExtension, '.')) == kTokenFileDigits;  // the file is of any text and tokenizer
    const bool is_of_this = name.starts_with(start);
    if (name.ends_with(kUnfinished) && (is_of_this || is_of_a_key)) {
      const Descriptor file(::open(entry.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
      if (file.get() >= 0 && lock(file.get()) == 0 && (is_of_this || is_old(file.get()))) {
        ::unlink(entry.c_str());
      }
    }
  }
}

/// Creates a file with a unique name, which is written to `name`, and locks it if the file system has locks. Returns -1 and errno on
/// failure. Process ids do not make names unique: writers may be in containers or on other machines.
int open_unfinished(const std::string& path, std::string& name) {
  constexpr int kMost = 1000;  // the number of names to try
  for (int i = 0; i < kMost; ++i) {
    name = concat(path, '.', ::getpid(), '-', i, kUnfinished);
    const int file = ::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (file < 0 && errno == EEXIST) {
      continue;
    }
    struct stat status{};
    struct stat there{};
    if (file < 0 || (lock(file) != EWOULDBLOCK && ::fstat(file, &status) == 0 && ::stat(name.c_str(), &there) == 0 &&
                     status.st_dev == there.st_dev && status.st_ino == there.st_ino)) {
      return file;
    }
    ::close(file);  // another writer took it for abandoned and removed it before it was locked
  }
  errno = EEXIST;
  return -1;
}

}  // namespace

/// A file that is written from start to end, in blocks.
class TokenFileWriter::Output {
 public:
  /// `file` is a descriptor, or -1 if `path` could not be opened.
  Output(int file, const std::string& path) : path_(path), file_(file) {
    require(file >= 0, "token file: cannot write ", path, ": ", errno_text, "; set data.cache to another folder");
  }
  ~Output() { ::close(file_); }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  std::size_t size() const { return size_; }

  void append(const void* data, std::size_t bytes) {
    constexpr std::size_t kBlock = std::size_t{1} << 20;
    const auto* from = static_cast<const char*>(data);
    block_.insert(block_.end(), from, from + bytes);
    size_ += bytes;
    if (block_.size() >= kBlock) {
      flush();
    }
  }
  void pad() {
    constexpr std::array<char, 64> kZeros{};
    append(kZeros.data(), aligned(size_) - size_);
  }
  void append(Output& other) {
    other.flush();
    std::array<std::byte, std::size_t{1} << 16> block{};
    for (std::size_t at = 0; at < other.size_; at += block.size()) {
      const auto piece = std::span(block).first(std::min(block.size(), other.size_ - at));
      read_again(other.file_, other.path_, at, piece);
      append(piece.data(), piece.size());
    }
  }
  Digest contents() {
    flush();
    return digest_of_contents(file_, path_, size_);
  }
  void finish_with(const void* start, std::size_t bytes) {
    flush();
    write(start, bytes, 0);
    const int error = sync_descriptor(file_, path_);
    require(error == 0, "token file: cannot write ", path_, " to the disk: ", describe_errno(error));
  }

 private:
  void flush() {
    write(block_.data(), block_.size(), size_ - block_.size());
    block_.clear();
  }
  void write(const void* data, std::size_t bytes, std::size_t offset) {
    const int error = write_all(file_, static_cast<index>(offset), {static_cast<const std::byte*>(data), bytes});
    require(error == 0, "token file: cannot write ", path_, ": ", describe_errno(error),
            "; free some space there, or set data.cache to another folder");
  }

  std::string path_;
  int file_;
  std::vector<char> block_;
  std::size_t size_ = 0;
};

TokenFileWriter::TokenFileWriter(const std::string& path, std::string key, index vocab_size)
    : path_(path), key_(std::move(key)), vocab_size_(vocab_size) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  require(!error, "token file: cannot create the folder ", folder, ": ", error.message(), "; set data.cache to another folder");
  remove_abandoned(path);
  std::string name;
  tokens_ = std::make_unique<Output>(open_unfinished(path, name), name);
  unfinished_ = name;
  validation_ = std::make_unique<Output>(open_nameless_file(folder), folder);
  for (auto& documents : documents_) {
    documents = std::make_unique<Output>(open_nameless_file(folder), folder);
  }
  const std::array<char, kHeaderBytes> nothing{};
  tokens_->append(nothing.data(), nothing.size());
}

TokenFileWriter::~TokenFileWriter() {
  if (!unfinished_.empty()) {
    ::unlink(unfinished_.c_str());
  }
}

void TokenFileWriter::begin_document(Part part) {
  const auto at = static_cast<std::size_t>(part);
  documents_[at]->append(&counts_[at], sizeof counts_[at]);
}

void TokenFileWriter::append(Part part, std::span<const Token> tokens) {
  const auto at = static_cast<std::size_t>(part);
  Output& out = part == Part::train ? *tokens_ : *validation_;
  counts_[at] += static_cast<index>(tokens.size());
  if (token_width(vocab_size_) == 4) {
    out.append(tokens.data(), tokens.size() * sizeof(Token));
    return;
  }
  const std::vector<std::uint16_t> narrow(tokens.begin(), tokens.end());
  out.append(narrow.data(), narrow.size() * sizeof(std::uint16_t));
}

void TokenFileWriter::finish(const std::array<index, kParts>& bytes) {
  Header header{};
  header.magic = kTokenFileMagic;
  header.version = kVersion;
  header.vocab_size = vocab_size_;
  if (counts_[1] > 0) {
    tokens_->pad();
    tokens_->append(*validation_);
  }
  for (std::size_t part = 0; part < kParts; ++part) {
    header.bytes[part] = bytes[part];
    header.tokens[part] = counts_[part];
    header.documents[part] = static_cast<index>(documents_[part]->size() / sizeof(index));
    tokens_->pad();
    tokens_->append(*documents_[part]);
  }
  require(key_.copy(header.key.data(), header.key.size()) == header.key.size(), "token file: the key is not a SHA-256 in hex");
  header.contents = tokens_->contents();
  header.checksum = checksum_of(header);
  tokens_->finish_with(&header, sizeof header);
  require(::rename(unfinished_.c_str(), path_.c_str()) == 0, "token file: cannot rename ", unfinished_, ": ", errno_text);
  unfinished_.clear();
  tokens_.reset();  // releases the lock
}

std::optional<TokenizedCorpus> open_token_file(const std::string& path, const std::string& key, index vocab_size) {
  // Open and lock the file.
  struct LockedFile {
    explicit LockedFile(const std::string& name) : descriptor(::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {}
    Descriptor descriptor;  // holds the lock
    std::optional<MappedFile> mapped{};
  };
  const auto locked = std::make_shared<LockedFile>(path);
  const int descriptor = locked->descriptor.get();
  if (descriptor < 0 && (errno == ENOENT || errno == ENOTDIR)) {
    return std::nullopt;
  }
  require_path(descriptor >= 0 ? 0 : errno, path, ": cannot be opened");
  // EWOULDBLOCK means that the file is being removed. Other errors are ignored, because some file systems have no locks.
  if (::flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return std::nullopt;
  }
  // Map the file, and check its header.
  locked->mapped.emplace(path, descriptor);
  const std::shared_ptr<const MappedFile> mapped(locked, &*locked->mapped);
  Header header{};
  if (mapped->size() < kHeaderBytes) {
    return std::nullopt;
  }
  std::memcpy(&header, mapped->data(), sizeof header);
  if (header.magic != kTokenFileMagic || header.version != kVersion || header.checksum != checksum_of(header) ||
      std::string_view(header.key.data(), header.key.size()) != key || header.vocab_size != vocab_size ||
      !is_possible(header, mapped->size())) {
    return std::nullopt;
  }
  // Compare the size and the contents with the header.
  const Layout layout = layout_of(header);
  if (layout.end != mapped->size()) {
    return std::nullopt;
  }
  PageSums sums(layout.end - kHeaderBytes);
  if (digest_of_contents(descriptor, path, layout.end, &sums) != header.contents) {
    return std::nullopt;
  }
  const auto file = std::make_shared<const CheckedFile>(mapped, kHeaderBytes, std::move(sums));
  ::futimens(descriptor, nullptr);  // sets the time of last use; may fail if the file belongs to another user
  // Return views of both parts.
  const auto part = [&](std::size_t i) {
    const TokenSegment tokens{
        .file = file, .offset = layout.tokens[i] - kHeaderBytes, .count = header.tokens[i], .width = token_width(vocab_size)};
    return TokenStore(vocab_size, {tokens},
                      {.file = file, .offset = layout.documents[i] - kHeaderBytes, .count = header.documents[i], .width = 8});
  };
  return TokenizedCorpus{.parts = {part(0), part(1)}, .bytes = {header.bytes[0], header.bytes[1]}};
}

}  // namespace dikkat
