#include "train/data/fingerprint.h"

#include <array>

#include <openssl/evp.h>

#include "autograd/base/error.h"

namespace dikkat {
namespace {

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) { restart(); }

  void add(std::string_view bytes) {
    require(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1, "sha256: libcrypto failed");
  }

  /// 32 bytes; what comes next is another text.
  std::string finish() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    require(EVP_DigestFinal_ex(context_.get(), digest.data(), &size) == 1, "sha256: libcrypto failed");
    restart();
    return {reinterpret_cast<const char*>(digest.data()), size};
  }

 private:
  void restart() {
    require(context_ != nullptr && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1, "sha256: libcrypto refuses to start");
  }

  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context_;
};

std::string in_hex(std::string_view digest) {
  std::string text;
  for (const char byte : digest) {
    text += "0123456789abcdef"[static_cast<unsigned char>(byte) >> 4];
    text += "0123456789abcdef"[static_cast<unsigned char>(byte) & 0xF];
  }
  return text;
}

}  // namespace

struct Fingerprint::State {
  Sha256 document, documents;
};

Fingerprint::Fingerprint() : state_(std::make_unique<State>()) {}
Fingerprint::~Fingerprint() = default;
Fingerprint::Fingerprint(Fingerprint&&) noexcept = default;
Fingerprint& Fingerprint::operator=(Fingerprint&&) noexcept = default;

void Fingerprint::add(std::string_view text) { state_->document.add(text); }
void Fingerprint::end_document() { state_->documents.add(state_->document.finish()); }
std::string Fingerprint::finish() { return in_hex(state_->documents.finish()); }

std::string sha256_hex(std::string_view text) {
  Sha256 hash;
  hash.add(text);
  return in_hex(hash.finish());
}

}  // namespace dikkat
