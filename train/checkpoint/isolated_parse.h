#pragma once

#include <functional>

#include "train/checkpoint/image.h"
#include "train/checkpoint/limited_child.h"

namespace dikkat {

/// What parsing a file of so many bytes may use.
ChildLimits parse_limits(index file_bytes);

/// As parse_image, for a file that may come from anybody: HDF5 1.10 crashes on images that were made to make it crash, so they are parsed
/// in a child process that can do nothing but read this file and answer. Its crash, its hanging or its appetite are InputErrors as well,
/// and nothing it answers is believed unchecked. Throws Error if there can be no child process.
ImageIndex parse_in_child(const File& file, index format);

/// The same with limits and a parser of one's own, for tests.
ImageIndex parse_in_child(const File& file, const ChildLimits& limits, const std::function<ImageIndex(const File&)>& parse);

}  // namespace dikkat
