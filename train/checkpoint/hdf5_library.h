#pragma once

// Included only by the sources that call the HDF5 library.

#include <mutex>
#include <string>
#include <utility>

#include <hdf5.h>

namespace dikkat {

/// Locks the library for one caller, and sets it up: it prints no errors and loads no plugins. It does nothing at exit, where 1.10 crashes
/// after a failed close.
std::unique_lock<std::mutex> enter_hdf5();

/// Owns an object of the library, and closes it once.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);

  Handle() = default;
  Handle(hid_t id, Close closer) : id_(id), close_(closer) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)), close_(other.close_) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  ~Handle() { close(); }

  bool valid() const { return id_ >= 0; }
  hid_t get() const { return id_; }
  /// Closes the object, and returns whether the library succeeded. After a failure it is not closed again, because that would crash.
  bool close() {
    const hid_t id = std::exchange(id_, H5I_INVALID_HID);
    return id < 0 || close_(id) >= 0;
  }

 private:
  hid_t id_ = H5I_INVALID_HID;
  Close close_ = nullptr;
};

/// Creates a fixed-length, NUL-terminated UTF-8 string type with room for `text_bytes` bytes of text; not valid() on failure.
Handle string_type(std::size_t text_bytes);

}  // namespace dikkat
