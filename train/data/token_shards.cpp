#include "train/data/token_shards.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "autograd/base/error.h"
#include "train/tasks/tasks.h"

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

TokenSegment open_segment(const CorpusFile& file) {
  const auto mapped = std::make_shared<const MappedFile>(file.path);
  const std::size_t size = mapped->size();
  ShardHeader header{};
  if (size >= kShardHeaderBytes) {
    std::memcpy(&header, mapped->data(), sizeof header);
  }
  for (const ShardKind& kind : kShardKinds) {
    if (header.magic == kind.magic) {
      require_input(header.version == kind.version, file.name, ": llm.c's header has version ", header.version, ", expected ",
                    kind.version);
      const auto bytes = kShardHeaderBytes + static_cast<std::size_t>(std::max(header.tokens, 0)) * static_cast<std::size_t>(kind.width);
      require_input(header.tokens > 0 && size == bytes, file.name, ": llm.c's header says ", header.tokens, " tokens, which need ", bytes,
                    " bytes, but the file has ", size, "; get it again");
      return {.file = mapped, .offset = kShardHeaderBytes, .count = header.tokens, .width = kind.width};
    }
  }
  require_input(size > 0 && size % 2 == 0, file.name, " has ", size,
                " bytes, expected tokens of 2 bytes each, as nanoGPT's prepare.py writes them");
  return {.file = mapped, .offset = 0, .count = static_cast<index>(size / 2), .width = 2};
}

}  // namespace

bool are_token_shards(std::span<const std::string> paths) {
  const auto count = std::count_if(paths.begin(), paths.end(), is_token_shard);
  require_input(count == 0 || count == static_cast<std::ptrdiff_t>(paths.size()),
                "corpus: some paths end in .bin (token files) and others do not, "
                "expected only token files or only texts");
  return count > 0;
}

TokenStore open_token_shards(std::span<const CorpusFile> files, index vocab_size, std::optional<Token> separator) {
  std::vector<TokenSegment> segments;
  for (const CorpusFile& file : files) {
    segments.push_back(open_segment(file));
  }
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
