#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "autograd/base/index.h"

namespace dikkat {

using Digest = std::array<std::uint8_t, 32>;

/// sha256 of the bytes (OpenSSL's libcrypto).
Digest sha256(std::span<const std::byte> bytes);
Digest sha256(std::string_view text);

/// 64 lower-case hexadecimal digits.
std::string to_hex(const Digest& digest);

/// sha256 of a text that comes in pieces.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void add(std::span<const std::byte> bytes);
  /// Of all that was added; what comes next is another text.
  Digest finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

inline constexpr index kHashChunkBytes = index{1} << 20;

/// sha256 over the sha256 of each chunk of kHashChunkBytes, so that all cores can work on it (TBB).
/// `read(offset, out)` fills `out` with the bytes at `offset`; it is called from several threads at once and may throw.
Digest root_hash(index bytes, const std::function<void(index offset, std::span<std::byte> out)>& read);

}  // namespace dikkat
