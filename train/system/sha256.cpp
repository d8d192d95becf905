#include "train/system/sha256.h"

#include <algorithm>
#include <memory>
#include <vector>

#include <openssl/evp.h>
#include <tbb/parallel_for.h>

#include "autograd/base/error.h"
#include "train/system/handover.h"

namespace dikkat {

struct Sha256::State {
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context{EVP_MD_CTX_new(), EVP_MD_CTX_free};
  State() { restart(); }
  void restart() {
    require(context != nullptr && EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) == 1, "sha256: libcrypto refuses to start");
  }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::add(std::span<const std::byte> bytes) {
  require(EVP_DigestUpdate(state_->context.get(), bytes.data(), bytes.size()) == 1, "sha256: libcrypto failed");
}

Digest Sha256::finish() {
  Digest digest{};
  unsigned size = 0;
  require(EVP_DigestFinal_ex(state_->context.get(), digest.data(), &size) == 1 && size == digest.size(), "sha256: libcrypto failed");
  state_->restart();
  return digest;
}

Digest sha256(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.finish();
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
