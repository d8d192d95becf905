#include "train/checkpoint/error_keeping_driver.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "autograd/base/error.h"

namespace dikkat {

namespace {

/// Our record of a file that the library has open. The library uses the first member.
struct OpenFile {
  H5FD_t base{};
  LentFile* lent = nullptr;
  haddr_t end = 0;  ///< end of the file as the library sees it
};

OpenFile& record_of(H5FD_t* file) { return *reinterpret_cast<OpenFile*>(file); }
const OpenFile& record_of(const H5FD_t* file) { return *reinterpret_cast<const OpenFile*>(file); }

bool is_writing(const OpenFile& file) { return file.lent->target != nullptr; }

void keep_error(LentFile& lent, int error, Operation operation) {
  if (error != 0 && lent.error == 0) {
    lent.error = error;
    lent.failed = operation;
  }
}

H5FD_t* open_lent(const char*, unsigned, hid_t access, haddr_t) {
  auto* const lent = static_cast<LentFile* const*>(H5Pget_driver_info(access));
  auto* const file = lent == nullptr ? nullptr : new (std::nothrow) OpenFile;
  if (file == nullptr) {
    return nullptr;
  }
  file->lent = *lent;
  file->end = is_writing(*file) ? 0 : static_cast<haddr_t>(file->lent->bytes);
  return &file->base;
}

herr_t close_lent(H5FD_t* file) {
  delete &record_of(file);
  return 0;
}

herr_t query(const H5FD_t*, unsigned long* features) {
  *features = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE | H5FD_FEAT_AGGREGATE_SMALLDATA;
  return 0;
}

haddr_t allocated_end(const H5FD_t* file, H5FD_mem_t) { return record_of(file).lent->end; }

herr_t set_allocated_end(H5FD_t* file, H5FD_mem_t, haddr_t end) {
  record_of(file).lent->end = end;
  return 0;
}

haddr_t content_end(const H5FD_t* file, H5FD_mem_t) { return record_of(file).end; }

herr_t read(H5FD_t* base, H5FD_mem_t, hid_t, haddr_t offset, std::size_t size, void* buffer) {
  OpenFile& file = record_of(base);
  if (offset > file.end || size > file.end - offset) {
    if (!is_writing(file)) {
      return -1;
    }
    std::memset(buffer, 0, size);
    size = offset > file.end ? 0 : file.end - offset;
  }
  const int error = file.lent->source->read(static_cast<index>(offset), {static_cast<std::byte*>(buffer), size});
  keep_error(*file.lent, error, Operation::read);
  return error != 0 && !is_writing(file) ? -1 : 0;
}

herr_t write(H5FD_t* base, H5FD_mem_t, hid_t, haddr_t offset, std::size_t size, const void* buffer) {
  OpenFile& file = record_of(base);
  if (!is_writing(file)) {
    return -1;
  }
  if (file.lent->error == 0) {
    keep_error(*file.lent, file.lent->target->write(static_cast<index>(offset), {static_cast<const std::byte*>(buffer), size}),
               Operation::write);
  }
  file.end = std::max(file.end, offset + size);
  return 0;
}

/// Truncates the file to its contents, because more space was reserved.
herr_t truncate(H5FD_t* base, hid_t, hbool_t) {
  OpenFile& file = record_of(base);
  if (is_writing(file)) {
    if (file.lent->error == 0) {
      keep_error(*file.lent, file.lent->target->truncate(static_cast<index>(file.lent->end)), Operation::truncate);
    }
    file.end = file.lent->end;
  }
  return 0;
}

hid_t register_driver() {
  H5FD_class_t driver{};
#if H5_VERSION_GE(1, 13, 2)
  driver.version = H5FD_CLASS_VERSION;
  driver.value = H5FD_class_value_t{H5_VFD_RESERVED};  // the first id that HDF5 leaves to drivers of programs
#endif
  driver.name = "dikkat_error_keeping";
  driver.maxaddr = (haddr_t{1} << 63) - 1;
  driver.fc_degree = H5F_CLOSE_STRONG;
  driver.fapl_size = sizeof(void*);  // a LentFile*
  driver.open = open_lent;
  driver.close = close_lent;
  driver.query = query;
  driver.get_eoa = allocated_end;
  driver.set_eoa = set_allocated_end;
  driver.get_eof = content_end;
  driver.read = read;
  driver.write = write;
  driver.truncate = truncate;
  return H5FDregister(&driver);
}

}  // namespace

Handle driver_access(LentFile& lent) {
  static const hid_t kDriver = register_driver();
  const LentFile* const pointer = &lent;
  Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  const bool ok = kDriver >= 0 && access.valid() && H5Pset_driver(access.get(), kDriver, &pointer) >= 0 &&
                  H5Pset_libver_bounds(access.get(), H5F_LIBVER_V110, H5F_LIBVER_V110) >= 0;
  return ok ? std::move(access) : Handle();
}

}  // namespace dikkat
