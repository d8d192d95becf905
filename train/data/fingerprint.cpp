#include "train/data/fingerprint.h"

#include <array>
#include <memory>

#include <openssl/evp.h>

#include "autograd/base/error.h"

namespace dikkat {
namespace {

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    require(context_ != nullptr && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1, "sha256: libcrypto refuses to start");
  }

  void update(const void* data, std::size_t bytes) {
    require(EVP_DigestUpdate(context_.get(), data, bytes) == 1, "sha256: libcrypto failed");
  }

  std::string hex() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    require(EVP_DigestFinal_ex(context_.get(), digest.data(), &size) == 1, "sha256: libcrypto failed");
    std::string text;
    for (std::size_t i = 0; i < size; ++i) {
      text += "0123456789abcdef"[digest[i] >> 4];
      text += "0123456789abcdef"[digest[i] & 0xF];
    }
    return text;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context_;
};

}  // namespace

std::string fingerprint(std::span<const Document> documents) {
  Sha256 hash;
  for (const Document& document : documents) {
    std::array<unsigned char, 8> length{};
    for (std::size_t i = 0; i < length.size(); ++i) {
      length[i] = static_cast<unsigned char>(std::uint64_t{document.text.size()} >> (8 * i));
    }
    hash.update(length.data(), length.size());
    hash.update(document.text.data(), document.text.size());
  }
  return hash.hex();
}

}  // namespace dikkat
