#pragma once

#include <cstddef>
#include <cstdint>

namespace dikkat::fuzz {

/// Makes the checksums of an HDF5 image's superblock (versions 2 and 3) and of its object headers (version 2) and their continuations
/// right, as far as they can be found by their signatures.
void repair_checksums(std::uint8_t* image, std::size_t size);

}  // namespace dikkat::fuzz
