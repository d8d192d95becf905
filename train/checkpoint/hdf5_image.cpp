#include "train/checkpoint/hdf5_image.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "autograd/base/error.h"
#include "train/checkpoint/error_keeping_driver.h"
#include "train/checkpoint/header.h"
#include "train/system/format_numbers.h"

namespace dikkat {

namespace {

/// A generous bound of the bytes that an HDF5 object takes in addition to its data.
constexpr index kOverheadBytes = 2048;

/// The most links in a group. They are stored in the group's header, where HDF5 searches all links for each new one: many more would take
/// minutes.
constexpr std::size_t kMostLinks = 12'500;

Handle require_handle(hid_t id, Handle::Close close, const std::string& what) {
  Handle handle(id, close);
  require(handle.valid(), "the HDF5 library could not create ", what);
  return handle;
}

void require_success(herr_t result, const char* what) { require(result >= 0, "the HDF5 library could not ", what); }

Handle hdf5_type(ElementType type) {
  const auto copy_of = [](hid_t known) { return require_handle(H5Tcopy(known), H5Tclose, "a type"); };
  switch (type) {
    case ElementType::f32: return copy_of(H5T_IEEE_F32LE);
    case ElementType::f64: return copy_of(H5T_IEEE_F64LE);
    case ElementType::u8: return copy_of(H5T_STD_U8LE);
    case ElementType::i32: return copy_of(H5T_STD_I32LE);
    case ElementType::i64: return copy_of(H5T_STD_I64LE);
    case ElementType::u64: return copy_of(H5T_STD_U64LE);
  }
  fail("HDF5 has no type for the elements of a tensor");
}

Handle hdf5_type(const StoredDataset& dataset) {
  if (!dataset.is_text) {
    return hdf5_type(dataset.type);
  }
  Handle type = string_type(static_cast<std::size_t>(dataset.bytes - 1));
  require(type.valid(), "the HDF5 library could not create a text of ", dataset.bytes, " bytes");
  return type;
}

Handle hdf5_space(const Shape& shape) {
  hsize_t extents[Shape::kMaxRank] = {};
  std::ranges::copy(shape.extents(), extents);
  return require_handle(shape.rank() == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(shape.rank(), extents, nullptr), H5Sclose, "a shape");
}

/// Splits "a/b/c" into "a/b" and "c".
std::pair<std::string, std::string> split(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::pair(std::string(), path) : std::pair(path.substr(0, slash), path.substr(slash + 1));
}

/// The names in each group. The group "" is the file's root.
using Groups = std::map<std::string, std::set<std::string>>;

Groups groups_of(std::span<const StoredDataset> datasets) {
  Groups groups{{"", {}}};
  for (const StoredDataset& dataset : datasets) {
    for (auto [group, name] = split(dataset.path); groups[group].insert(name).second && !group.empty();) {
      std::tie(group, name) = split(group);
    }
  }
  for (const StoredDataset& dataset : datasets) {
    require(!groups.contains(dataset.path), "tensor ", dataset.path, " has the path of a group of tensors");
  }
  for (const auto& [group, names] : groups) {
    require_input(names.size() <= kMostLinks, "a model of ", grouped_digits(static_cast<index>(names.size())),
                  " tensors cannot be stored, expected at most ", grouped_digits(static_cast<index>(kMostLinks)),
                  ": use fewer layers (model.n_layer)");
  }
  return groups;
}

class ImageWriter {
 public:
  explicit ImageWriter(LentFile& lent)
      : group_properties_(require_handle(H5Pcreate(H5P_GROUP_CREATE), H5Pclose, "group properties")),
        dataset_properties_(require_handle(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "dataset properties")) {
    plain_group(group_properties_);
    require_success(H5Pset_obj_track_times(dataset_properties_.get(), false), "leave times out");
    require_success(H5Pset_layout(dataset_properties_.get(), H5D_CONTIGUOUS), "store data in one piece");
    require_success(H5Pset_fill_time(dataset_properties_.get(), H5D_FILL_TIME_NEVER), "turn off fill values");
    const Handle creation = require_handle(H5Pcreate(H5P_FILE_CREATE), H5Pclose, "file properties");
    require_success(H5Pset_userblock(creation.get(), kHeaderBytes), "leave room for the header");
    plain_group(creation);
    const Handle access = driver_access(lent);
    require(access.valid(), "the HDF5 library could not use the file driver");
    file_ = require_handle(H5Fcreate("checkpoint", H5F_ACC_TRUNC, creation.get(), access.get()), H5Fclose, "a file");
  }

  void write(std::span<StoredDataset> datasets) {
    std::map<std::string, Handle> groups;
    for (const auto& [path, names] : groups_of(datasets)) {
      if (!path.empty()) {
        groups.emplace(path, group(path, names));
      }
    }
    for (StoredDataset& dataset : datasets) {
      const auto [path, name] = split(dataset.path);
      write(path.empty() ? file_.get() : groups.at(path).get(), name, dataset);
    }
    groups.clear();
    require(file_.close(), "the HDF5 library could not close the file");
  }

 private:
  /// Sets the properties of a group: no times, and links in the group's header. With links in heaps and trees, HDF5 1.10.8 frees invalid
  /// pointers when a read fails.
  static void plain_group(const Handle& properties) {
    require_success(H5Pset_obj_track_times(properties.get(), false), "leave times out");
    require_success(H5Pset_link_phase_change(properties.get(), 65535, 65534), "keep links together");
  }

  /// Creates a group with room for these links; otherwise the library would move the existing ones for each new link. Newer releases
  /// reserve at most 64 KiB, so longer lists of links go into a heap and a tree there.
  Handle group(const std::string& path, const std::set<std::string>& names) {
    std::size_t longest = 1;
    for (const std::string& name : names) {
      longest = std::max(longest, name.size());
    }
    const Handle properties = require_handle(H5Pcopy(group_properties_.get()), H5Pclose, "group properties");
#if H5_VERSION_GE(1, 12, 0)
    constexpr std::size_t kLinkBytes = 32, kMostReserved = 60'000;  // kLinkBytes: a generous bound, not counting the name
    if (names.size() * (longest + kLinkBytes) > kMostReserved) {
      require_success(H5Pset_link_phase_change(properties.get(), 8, 6), "keep links in a tree");  // the library's defaults
    }
#endif
    require_success(H5Pset_est_link_info(properties.get(), static_cast<unsigned>(names.size()), static_cast<unsigned>(longest)),
                    "make room for links");
    return require_handle(H5Gcreate2(file_.get(), path.c_str(), H5P_DEFAULT, properties.get(), H5P_DEFAULT), H5Gclose, path);
  }

  void write(hid_t parent, const std::string& name, StoredDataset& dataset) {
    const Handle type = hdf5_type(dataset);
    const Handle space = hdf5_space(dataset.shape);
    const Handle handle = require_handle(
        H5Dcreate2(parent, name.c_str(), type.get(), space.get(), H5P_DEFAULT, dataset_properties_.get(), H5P_DEFAULT), H5Dclose, name);
    if (dataset.bytes > 0) {
      require_success(H5Dwrite(handle.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, dataset.data), "write");
      const haddr_t offset = H5Dget_offset(handle.get());
      require(offset != HADDR_UNDEF, "the HDF5 library reports no offset for ", dataset.path);
      dataset.offset = static_cast<index>(offset);
    }
  }

  Handle group_properties_, dataset_properties_, file_;
};

/// Compares the objects that HDF5 finds in a file with the expected datasets.
class ImageChecker {
 public:
  ImageChecker(LentFile& lent, std::span<const StoredDataset> expected) : datasets_(expected) {
    const Handle access = driver_access(lent);
    file_ = Handle(access.valid() ? H5Fopen("checkpoint", H5F_ACC_RDONLY, access.get()) : -1, H5Fclose);
    require(file_.valid(), "HDF5 cannot open the file");
  }

  void check() {
    check_group(file_.get(), "");
    require(dataset_count_ == datasets_.size(), "HDF5 shows ", dataset_count_, " datasets of the file, expected ", datasets_.size());
  }

 private:
  struct Link {
    std::string name;
    haddr_t object = HADDR_UNDEF;
  };

  static herr_t collect(hid_t, const char* name, const H5L_info_t* info, void* out) {
    try {
      static_cast<std::vector<Link>*>(out)->push_back({name, info->type == H5L_TYPE_HARD ? info->u.address : HADDR_UNDEF});
      return 0;
    } catch (...) {
      return -1;  // no exception may pass through the library, because it is written in C
    }
  }

  /// Checks all objects of a group. It opens them by address, because looking up each name would take quadratic time.
  void check_group(hid_t group, const std::string& path) {
    std::vector<Link> links;
    require(H5Literate(group, H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, collect, &links) >= 0, "HDF5 cannot list /", path);
    for (const Link& link : links) {
      const std::string object_path = path.empty() ? link.name : concat(path, '/', link.name);
      const Handle object(H5Oopen_by_addr(file_.get(), link.object), H5Oclose);
      require(object.valid(), "HDF5 cannot open /", object_path);
      if (H5Iget_type(object.get()) == H5I_GROUP) {
        check_group(object.get(), object_path);
      } else {
        check_dataset(object.get(), object_path);
        ++dataset_count_;
      }
    }
  }

  void check_dataset(hid_t dataset, const std::string& path) const {
    const auto expected = std::lower_bound(datasets_.begin(), datasets_.end(), path,
                                           [](const StoredDataset& d, const std::string& wanted) { return d.path < wanted; });
    require(expected != datasets_.end() && expected->path == path, "HDF5 shows /", path, ", which was not written");
    const Handle type(H5Dget_type(dataset), H5Tclose);
    const Handle space(H5Dget_space(dataset), H5Sclose);
    require(type.valid() && H5Tequal(type.get(), hdf5_type(*expected).get()) > 0, "HDF5 shows another type of /", path);
    require(space.valid() && H5Sextent_equal(space.get(), hdf5_space(expected->shape).get()) > 0, "HDF5 shows another shape of /", path);
    require(expected->bytes == 0 || H5Dget_offset(dataset) == static_cast<haddr_t>(expected->offset), "HDF5 shows another offset of /",
            path);
    require(H5Dget_storage_size(dataset) == static_cast<hsize_t>(expected->bytes), "HDF5 shows another size of /", path);
  }

  std::span<const StoredDataset> datasets_;
  Handle file_;
  std::size_t dataset_count_ = 0;
};

/// Runs `act`. If the file had an error, throws that instead of the library's error.
template <class Act>
void with_first_error(LentFile& lent, Act&& act) {
  try {
    act();
  } catch (const Error&) {
    if (lent.error == 0) {
      throw;
    }
  }
  require_done(lent.error, lent.failed);
}

}  // namespace

index image_bytes(std::span<const StoredDataset> datasets) {
  index bytes = kHeaderBytes + 64 * kOverheadBytes;
  for (const StoredDataset& dataset : datasets) {
    bytes += kOverheadBytes + static_cast<index>(dataset.path.size()) + dataset.bytes;
  }
  return bytes;
}

void write_image(File& file, std::span<StoredDataset> datasets) {
  const auto hdf5 = enter_hdf5();
  LentFile lent{.source = &file, .target = &file};
  with_first_error(lent, [&] { ImageWriter(lent).write(datasets); });
}

void require_image_shows(const File& file, std::span<const StoredDataset> datasets) {
  const auto hdf5 = enter_hdf5();
  LentFile lent{.source = &file, .bytes = file.size()};
  with_first_error(lent, [&] { ImageChecker(lent, datasets).check(); });
}

}  // namespace dikkat
