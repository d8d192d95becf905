#pragma once

#include <span>

#include "train/checkpoint/dataset.h"
#include "train/system/file.h"

namespace dikkat {

// The HDF5 image of a checkpoint is there for h5dump, h5py and other readers of HDF5. dikkat itself loads a checkpoint by its index. It
// reads an image only right after writing it, because the HDF5 library crashes on malicious files.
//
// Datasets are contiguous, little-endian, row-major and without filters. Texts have a fixed length and are NUL-terminated UTF-8.

/// Returns an upper bound of the disk space that the image takes, in bytes.
index image_bytes(std::span<const StoredDataset> datasets);

/// Writes kHeaderBytes of zeros and then the image to `file`, and sets the offsets of the datasets, which must be sorted by path. Equal
/// datasets have equal bytes. Throws Error if writing fails, and InputError for more tensors in a group than HDF5 can store.
void write_image(File& file, std::span<StoredDataset> datasets);

/// Opens an image that write_image() has just written. Throws Error unless the HDF5 library finds exactly these datasets in it, with these
/// types, shapes and offsets.
void require_image_shows(const File& file, std::span<const StoredDataset> datasets);

}  // namespace dikkat
