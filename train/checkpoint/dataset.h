#pragma once

#include <string>
#include <vector>

#include "train/checkpoint/contents.h"

namespace dikkat {

/// A dataset of a checkpoint's HDF5 image, and the memory with its contents. Its path has no leading slash. Its offset is 0 until it is
/// written, or if it is empty.
struct StoredDataset : StoredTensor {
  const void* data = nullptr;
  bool is_text = false;  ///< a text of bytes - 1 bytes, and a NUL; it has no type
};

inline constexpr const char* kConfigPath = "config";
inline constexpr const char* kTokenizerPath = "tokenizer";
inline constexpr const char* kStatePrefix = "state/";

/// The longest configuration or tokenizer that is saved or loaded.
inline constexpr index kMaxTextBytes = index{128} << 20;

/// Returns the datasets of a snapshot's image, sorted by path:
///   model/<parameter>  optimizer/<slab>/<parameter>  and any other tensor of the snapshot
///   state/<field>      scalars: i64, u64 or f64, u8 for a bool, or a text
///   config  tokenizer  texts, UTF-8
/// Throws Error if a tensor cannot be stored or occurs twice, and InputError for a text that is too long.
std::vector<StoredDataset> datasets_of(const Snapshot& snapshot);

}  // namespace dikkat
