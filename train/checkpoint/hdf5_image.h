#pragma once

#include <span>

#include "train/checkpoint/dataset.h"
#include "train/system/file.h"

namespace dikkat {

// The HDF5 image of a checkpoint, for h5dump, h5py and other readers of HDF5. dikkat writes it, and reads back only what it has just
// written: the HDF5 library crashes on malicious files. Loading uses only the index.
//
// Datasets are contiguous, little-endian, row-major and without filters; texts are of fixed length, NUL-terminated, UTF-8.

/// The most disk space that the image takes.
index image_bytes(std::span<const Dataset> datasets);

/// Writes to `file` kHeaderBytes of zeros and the image of the datasets, which must be sorted by path, and sets their offsets. Equal
/// datasets give equal bytes. Throws Error if writing fails, and InputError for more tensors in a group than HDF5 can store.
void write_image(File& file, std::span<Dataset> datasets);

/// Opens the image that write_image() has just written with the HDF5 library. Throws Error unless it has exactly these datasets, with these
/// types, shapes and offsets.
void require_image_shows(const File& file, std::span<const Dataset> datasets);

}  // namespace dikkat
