#include "train/checkpoint/hdf5_library.h"

#include "autograd/base/error.h"
#include "autograd/base/pages.h"

namespace dikkat {

std::unique_lock<std::mutex> enter_hdf5() {
  static std::mutex mutex;
  static bool ready = false;
  std::unique_lock lock(mutex);
  constexpr std::size_t kRoom = std::size_t{16} << 20;
  require_room(kRoom, "HDF5");  // without memory for its list of errors, the library writes to address 0
  if (!ready) {
    H5dont_atexit();  // fails if other code has already opened the library
    require(H5open() >= 0 && H5PLset_loading_state(0) >= 0, "the HDF5 library cannot be started");
    ready = true;
  }
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // each time, because a thread-safe library keeps this setting for each thread
  return lock;
}

Handle string_type(std::size_t text_bytes) {
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  const bool ok = type.valid() && H5Tset_size(type.get(), text_bytes + 1) >= 0 && H5Tset_cset(type.get(), H5T_CSET_UTF8) >= 0 &&
                  H5Tset_strpad(type.get(), H5T_STR_NULLTERM) >= 0;
  return ok ? std::move(type) : Handle();
}

}  // namespace dikkat
