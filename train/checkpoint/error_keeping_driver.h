#pragma once

// Included only by the sources that call the HDF5 library.

#include "train/checkpoint/hdf5_library.h"
#include "train/system/file.h"

namespace dikkat {

/// A file that the HDF5 library uses through our file driver. If a write fails, the library crashes or reports success. So the driver
/// reports success for all writes and keeps the first error here; the caller checks it after closing the file. After an error the driver
/// writes nothing more.
struct LentFile {
  const File* source = nullptr;  ///< the driver does not close it
  index bytes = 0;               ///< size of the source, for reading
  File* target = nullptr;        ///< also the file, if it is to be written from the start; null: read only
  int error = 0;                 ///< errno of the first call that failed
  Operation failed = Operation::write;
  haddr_t end = 0;  ///< end of the space that the library has allocated in the file
};

/// Returns file access properties with which H5Fcreate and H5Fopen use `lent`, whatever file name they get; not valid() on failure.
/// `lent` must outlive the HDF5 file. The caller must hold the lock of enter_hdf5().
Handle driver_access(LentFile& lent);

}  // namespace dikkat
