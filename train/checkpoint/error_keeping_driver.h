#pragma once

// Included only by the sources that talk to the HDF5 library.

#include "train/checkpoint/hdf5_library.h"
#include "train/io/file.h"

namespace dikkat {

/// A file lent to the HDF5 library. The library is not safe near a failing disk: it crashes after a failed write or says that all
/// is well. So when writing it is told of success always; the first error is kept here, to be looked at after the file was closed,
/// and nothing is written any more.
struct LentFile {
  const File* source = nullptr;  ///< stays open
  index bytes = 0;               ///< of the source, where it is to be read
  File* target = nullptr;        ///< the same file if it is to be written, from nothing; null: to be read only
  int error = 0;                 ///< errno of the first call that failed
  Operation failed = Operation::write;
  haddr_t end = 0;  ///< of what the library has given out, from the beginning of the file
};

/// File access properties that make H5Fcreate and H5Fopen work on `lent`, whatever name they are given; not valid() on failure.
/// `lent` must outlive the HDF5 file, and enter_hdf5() must be held.
Handle driver_access(LentFile& lent);

}  // namespace dikkat
