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

/// Incremental sha256.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void add(std::span<const std::byte> bytes);
  /// The sha256 of everything that was added. Then starts again.
  Digest finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

inline constexpr index kHashChunkBytes = index{1} << 20;

/// The sha256 over the sha256 of each chunk of kHashChunkBytes, so that all cores can compute it (TBB).
/// `read(offset, out)` must fill `out` with the bytes at `offset`; several threads call it at once, and it may throw.
Digest root_hash(index bytes, const std::function<void(index offset, std::span<std::byte> out)>& read);

}  // namespace dikkat
