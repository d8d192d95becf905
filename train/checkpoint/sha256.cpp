#include "train/checkpoint/sha256.h"

#include <algorithm>
#include <memory>
#include <vector>

#include <openssl/evp.h>
#include <tbb/parallel_for.h>

#include "autograd/base/error.h"
#include "autograd/base/handover.h"

namespace dikkat {

Digest sha256(std::span<const std::byte> bytes) {
  Digest digest;
  unsigned size = 0;
  const int done = EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr);
  require(done == 1 && size == digest.size(), "sha256: libcrypto failed");
  return digest;
}

Digest sha256(std::string_view text) { return sha256(std::as_bytes(std::span(text))); }

std::string to_hex(const Digest& digest) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  for (const std::uint8_t byte : digest) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

Digest root_hash(index bytes, const std::function<void(index offset, std::span<std::byte> out)>& read) {
  std::vector<Digest> digests(static_cast<std::size_t>(ceil_div(bytes, kHashChunkBytes)));
  const auto hash_chunk = [&](std::size_t chunk) {
    const index offset = static_cast<index>(chunk) * kHashChunkBytes;
    const auto size = static_cast<std::size_t>(std::min(kHashChunkBytes, bytes - offset));
    const auto buffer = std::make_unique_for_overwrite<std::byte[]>(size);
    const std::span<std::byte> content(buffer.get(), size);
    read(offset, content);
    digests[chunk] = sha256(content);
  };
  {
    Handover begun, ended;
    const AcquireAtEnd done(ended);
    begun.release();
    tbb::parallel_for(std::size_t{0}, digests.size(), between(begun, ended, hash_chunk));
  }
  return sha256(std::as_bytes(std::span(digests)));
}

}  // namespace dikkat
