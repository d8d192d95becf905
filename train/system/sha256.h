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

/// Returns the sha256 of the bytes, computed by OpenSSL's libcrypto.
Digest sha256(std::span<const std::byte> bytes);
Digest sha256(std::string_view text);

/// Formats a digest as 64 lower-case hexadecimal digits.
std::string to_hex(const Digest& digest);

/// Computes a sha256 incrementally.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void add(std::span<const std::byte> bytes);
  /// Returns the sha256 of everything that was added, and starts again.
  Digest finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

inline constexpr index kHashChunkBytes = index{1} << 20;

/// Returns the sha256 of the list of each chunk's sha256, which all cores compute together (TBB). A chunk has kHashChunkBytes, the last
/// one fewer. `read(offset, out)` must fill `out` with the bytes at `offset`; several threads call it at once, and it may throw.
Digest root_hash(index bytes, const std::function<void(index offset, std::span<std::byte> out)>& read);

}  // namespace dikkat
