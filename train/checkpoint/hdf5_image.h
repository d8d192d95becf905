#pragma once

#include <span>

#include "train/checkpoint/dataset.h"
#include "train/io/file.h"

namespace dikkat {

// The HDF5 image of a checkpoint, for h5dump, h5py and whatever else reads HDF5. dikkat itself writes it and never reads one that somebody
// else may have made: the HDF5 library crashes on files that were made to make it crash. Loading goes by the index alone.
//
// Datasets are contiguous, little-endian, row-major and without filters; texts are of fixed length, NUL-terminated, UTF-8.

/// Disk space that the image takes at most.
index image_bytes(std::span<const Dataset> datasets);

/// Makes `file` kHeaderBytes of zeros and the image of the datasets, which are sorted by path, and sets their offsets. Equal datasets give
/// equal bytes. Throws Error for whatever goes wrong with the file, InputError for more tensors in a group than HDF5 can hold.
void write_image(File& file, std::span<Dataset> datasets);

/// Opens the image that write_image() has just made as any HDF5 reader would, and throws Error unless it shows exactly these datasets, each
/// with its type, its shape and its bytes at its offset.
void require_image_shows(const File& file, std::span<const Dataset> datasets);

}  // namespace dikkat
