#include "train/data/tokens/token_shards.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "autograd/base/error.h"
#include "train/data/corpus/file_kind.h"
#include "train/data/tokens/token_form.h"
#include "train/system/pipeline.h"

namespace dikkat {
namespace {

bool is_token_shard(const std::string& path) { return extension_of(path) == kTokenExtensions[0]; }

/// llm.c's header: 256 integers, of which three are used.
struct ShardHeader {
  std::int32_t magic, version, tokens;
};
constexpr std::size_t kShardHeaderBytes = 1024;
struct ShardKind {
  std::int32_t magic, version;
  int width;
};
constexpr ShardKind kShardKinds[] = {{20240520, 1, 2}, {20240801, 7, 4}};
constexpr std::int32_t kModelMagic = 20240326;  // the magic number of llm.c's model files

/// The end of a message: how to write ids that this program reads.
constexpr const char* kHowToWrite =
    "; expected ids of 16, 32 or 64 bits that begin with their lowest byte, as NumPy's ids.astype(\"<u2\").tofile(\"train.bin\") writes "
    "them";

/// Throws InputError for data that certainly is not tokens.
void require_tokens(const std::string& name, std::string_view begin) {
  const bool is_compressed = name.ends_with("z") || name.ends_with(".zst");
  if (const FileKind* kind = kind_of_file(begin); kind != nullptr && (is_compressed || kind->magic.size() > 3)) {  // three bytes may be ids
    refuse_kind(*kind, name, "token files");
  }
  std::int32_t magic = 0;
  if (begin.size() >= sizeof magic) {
    std::memcpy(&magic, begin.data(), sizeof magic);
  }
  require_input(magic != kModelMagic, "corpus: ", name, " is an llm.c model, expected a token file");
  for (const ShardKind& kind : kShardKinds) {
    require_input(static_cast<std::int32_t>(__builtin_bswap32(static_cast<std::uint32_t>(magic))) != kind.magic, "corpus: ", name,
                  " has an llm.c header in big-endian order", kHowToWrite);
  }
}

TokenSegment open_segment(const std::shared_ptr<const CheckedFile>& file, index vocab_size, std::vector<std::string>* notes) {
  const std::size_t size = file->size();
  const std::string& name = file->path();
  std::vector<std::byte> begin(std::min(size, kTokenFormBytes));
  file->read(0, begin);
  ShardHeader header{};
  if (size >= kShardHeaderBytes) {
    std::memcpy(&header, begin.data(), sizeof header);
  }
  for (const ShardKind& kind : kShardKinds) {
    if (header.magic == kind.magic) {
      require_input(header.version == kind.version, name, ": the llm.c header has version ", header.version, ", expected ", kind.version);
      const auto bytes = kShardHeaderBytes + static_cast<std::size_t>(std::max(header.tokens, 0)) * static_cast<std::size_t>(kind.width);
      require_input(header.tokens > 0 && size == bytes, name, ": the llm.c header promises ", header.tokens, " tokens, which need ", bytes,
                    " bytes, but the file has ", size, "; get the file again");
      return {.file = file, .offset = kShardHeaderBytes, .count = header.tokens, .width = kind.width};
    }
  }
  require_tokens(name, std::string_view(reinterpret_cast<const char*>(begin.data()), begin.size()));
  const TokenForm form = token_form(begin, size, vocab_size);
  require_input(form.problem.empty(), "corpus: ", name, ' ', form.problem, kHowToWrite);
  require_input(size > 0 && size % 2 == 0, name, " has ", size,
                " bytes, expected tokens of 2 bytes each, as nanoGPT's prepare.py writes them");
  if (form.width != 2 && notes != nullptr) {
    notes->push_back(
        concat(name, " has no header; its ids are read as ", 8 * form.width, " bits each, because nearly all upper words are 0"));
  }
  return {.file = file, .offset = 0, .count = static_cast<index>(size) / form.width, .width = form.width};
}

}  // namespace

bool are_token_shards(std::span<const std::string> paths) {
  const auto count = std::count_if(paths.begin(), paths.end(), is_token_shard);
  require_input(count == 0 || count == static_cast<std::ptrdiff_t>(paths.size()),
                "corpus: some paths end in .bin (token files) and others do not, "
                "expected only token files or only texts");
  return count > 0;
}

TokenShards map_token_shards(std::span<const CorpusFile> files, Fingerprint* fingerprint) {
  TokenShards shards;
  for (const CorpusFile& file : files) {
    shards.push_back(std::make_shared<const CheckedFile>(file.path, [&](std::span<const std::byte> block) {
      if (fingerprint != nullptr) {
        fingerprint->add({reinterpret_cast<const char*>(block.data()), block.size()});
      }
    }));
    if (fingerprint != nullptr) {
      fingerprint->end_document();
    }
  }
  return shards;
}

TokenStore open_token_shards(const TokenShards& files, index vocab_size, std::optional<Token> separator, std::vector<std::string>* notes) {
  std::vector<TokenSegment> segments;
  for (const auto& file : files) {
    segments.push_back(open_segment(file, vocab_size, notes));
  }
  // Check all ids in parallel, and find the starts of documents.
  TokenStore all(vocab_size, segments);
  constexpr index kBlock = index{1} << 20;
  std::vector<std::vector<index>> starts(static_cast<std::size_t>(ceil_div(all.size(), kBlock)));
  run_tasks(static_cast<index>(starts.size()), [&](index block) {
    const index first = block * kBlock;
    std::vector<Token> tokens(static_cast<std::size_t>(std::min(kBlock, all.size() - first)));
    all.read(first, static_cast<index>(tokens.size()), tokens.data());  // refuses invalid ids
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const index next = first + static_cast<index>(i) + 1;
      if (tokens[i] == separator && next < all.size()) {
        starts[static_cast<std::size_t>(block)].push_back(next);
      }
    }
  });
  std::vector<index> documents = {0};
  for (const std::vector<index>& of_block : starts) {
    documents.insert(documents.end(), of_block.begin(), of_block.end());
  }
  return TokenStore(vocab_size, std::move(segments), std::move(documents));
}

}  // namespace dikkat
