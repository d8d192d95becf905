#pragma once

// Included only by the sources that call the HDF5 library.

#include "train/checkpoint/hdf5_library.h"
#include "train/system/file.h"

namespace dikkat {

/// A file that the HDF5 library uses through our file driver. With a failing disk, the library crashes after a failed write or reports
/// success. So the driver reports success for all writes, keeps the first error here for the caller to check after the file was closed, and
/// writes nothing after it.
struct LentFile {
  const File* source = nullptr;  ///< stays open
  index bytes = 0;               ///< size of the source, for reading
  File* target = nullptr;        ///< the same file, for writing it from the start; null: read only
  int error = 0;                 ///< errno of the first call that failed
  Operation failed = Operation::write;
  haddr_t end = 0;  ///< end of the space that the library has allocated in the file
};

/// File access properties with which H5Fcreate and H5Fopen use `lent`, whatever file name they get; not valid() on failure.
/// `lent` must outlive the HDF5 file. The caller must hold enter_hdf5().
Handle driver_access(LentFile& lent);

}  // namespace dikkat
