// Fuzzes files of tokens: our own (mode 0 unchanged, mode 1 with both checksums made right), and those of nanoGPT and llm.c.

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "tests/fuzz/fuzz.h"
#include "train/data/tokens/token_file.h"
#include "train/data/tokens/token_shards.h"
#include "train/system/sha256.h"

namespace dikkat {

namespace {

constexpr std::size_t kContentsAt = 144;  // two sha256: one of everything after the header, one of the header before it
constexpr std::size_t kChecksumAt = 176;
constexpr std::size_t kHeaderBytes = 256;

void put(std::string& bytes, std::size_t at, const Digest& digest) { std::memcpy(bytes.data() + at, digest.data(), digest.size()); }

/// Makes all calls that a loader makes. Ids that are not in the file or the vocabulary are refused.
void read_all(const TokenStore& store, index bytes) {
  fuzz::hold(store.size() >= 0 && store.size() <= bytes / 2 && store.documents() >= 0 && store.documents() <= bytes,
             "tokens lie in the file");
  std::vector<Token> tokens(static_cast<std::size_t>(store.size()));
  fuzz::accepts([&] {
    store.read(0, store.size(), tokens.data());
    fuzz::hold(std::all_of(tokens.begin(), tokens.end(), [&](Token token) { return token >= 0 && token < store.vocab_size(); }),
               "a token is below vocab_size");
  });
  fuzz::accepts([&] {
    for (index i = 0; i <= store.documents(); ++i) {
      const index start = store.document_start(i);
      fuzz::hold(start >= 0 && start <= store.size(), "a document begins in the file");
    }
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fuzz::MemoryFile place;
  std::string_view input = fuzz::text_of(data, size);
  const unsigned mode = fuzz::choice(input, 6);
  const index vocab_size = mode % 2 == 0 ? 100 : 70'000;
  std::string bytes(input);
  if (mode / 2 == 1 && bytes.size() >= kHeaderBytes) {
    const std::string rest = bytes.substr(kHeaderBytes);
    put(bytes, kContentsAt, root_hash(static_cast<index>(rest.size()), [&](index offset, std::span<std::byte> out) {
          std::memcpy(out.data(), rest.data() + offset, out.size());
        }));
    put(bytes, kChecksumAt, sha256(std::string_view(bytes).substr(0, kChecksumAt)));
  }
  place.put(bytes);
  const auto length = static_cast<index>(bytes.size());
  fuzz::accepts([&] {
    if (mode / 2 == 2) {
      const CorpusFile file{.name = "fuzz.bin", .path = place.path()};
      const TokenStore store = open_token_shards(map_token_shards(std::span(&file, 1)), vocab_size, Token{7});
      read_all(store, length);
      read_all(store.part(store.size() / 3, store.size() / 2), length);
    } else if (const auto corpus = open_token_file(place.path(), std::string(64, 'k'), vocab_size)) {
      for (const TokenStore& part : corpus->parts) {
        read_all(part, length);
      }
    }
  });
  return 0;
}

}  // namespace dikkat
