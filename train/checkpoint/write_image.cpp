#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "autograd/base/error.h"
#include "train/checkpoint/error_keeping_driver.h"
#include "train/checkpoint/header.h"
#include "train/checkpoint/image.h"
#include "train/checkpoint/stored_name.h"

namespace dikkat {

static_assert(std::endian::native == std::endian::little, "tensors are written as they lie in memory");

namespace {

/// What an HDF5 object and its headers take, with a good deal to spare.
constexpr index kOverheadBytes = 2048;

/// In a group. The library's time to find them again grows with their square: for so many some 2 of the 10 s that a reader's child has.
constexpr std::size_t kMostTensors = 12'500;

/// The folder and the name in it.
std::string folder_of(const TensorView& tensor) { return tensor.path.substr(0, tensor.path.rfind('/')); }
std::string name_of(const TensorView& tensor) { return tensor.path.substr(tensor.path.rfind('/') + 1); }

using Folders = std::map<std::string, std::vector<const TensorView*>>;

Handle made(hid_t id, Handle::Close close, const char* what) {
  Handle handle(id, close);
  require(handle.valid(), "the HDF5 library could not make ", what);
  return handle;
}

void checked(herr_t result, const char* what) { require(result >= 0, "the HDF5 library could not ", what); }

class ImageWriter {
 public:
  explicit ImageWriter(LentFile& lent)
      : scalar_(made(H5Screate(H5S_SCALAR), H5Sclose, "a scalar")),
        group_properties_(made(H5Pcreate(H5P_GROUP_CREATE), H5Pclose, "group properties")),
        dataset_properties_(made(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "dataset properties")) {
    plain_group(group_properties_);
    checked(H5Pset_obj_track_times(dataset_properties_.get(), false), "leave times out");
    checked(H5Pset_layout(dataset_properties_.get(), H5D_CONTIGUOUS), "lay data out in one piece");
    checked(H5Pset_fill_time(dataset_properties_.get(), H5D_FILL_TIME_NEVER), "do without filling");
    const Handle creation = made(H5Pcreate(H5P_FILE_CREATE), H5Pclose, "file properties");
    checked(H5Pset_userblock(creation.get(), kHeaderBytes), "leave room for the header");
    plain_group(creation);
    const Handle access = driver_access(lent);
    require(access.valid(), "the HDF5 library could not take the file driver");
    file_ = made(H5Fcreate("checkpoint", H5F_ACC_TRUNC, creation.get(), access.get()), H5Fclose, "a file");
  }

  hid_t file() const { return file_.get(); }

  Handle group(hid_t parent, const char* name) {
    return made(H5Gcreate2(parent, name, H5P_DEFAULT, group_properties_.get(), H5P_DEFAULT), H5Gclose, name);
  }
  /// With room for the links of these tensors: the library would look for it, and move what is there, for each.
  Handle group(hid_t parent, const char* name, std::span<const TensorView* const> tensors) {
    std::size_t longest = 1;
    for (const TensorView* tensor : tensors) {
      longest = std::max(longest, name_of(*tensor).size());
    }
    const Handle properties = made(H5Pcopy(group_properties_.get()), H5Pclose, "group properties");
    checked(H5Pset_est_link_info(properties.get(), static_cast<unsigned>(tensors.size()), static_cast<unsigned>(longest)),
            "make room for links");
    return made(H5Gcreate2(parent, name, H5P_DEFAULT, properties.get(), H5P_DEFAULT), H5Gclose, name);
  }

  void put(hid_t parent, const char* name, hid_t type, hid_t space, const void* data) {
    const Handle dataset = made(H5Dcreate2(parent, name, type, space, H5P_DEFAULT, dataset_properties_.get(), H5P_DEFAULT), H5Dclose, name);
    if (data != nullptr) {
      checked(H5Dwrite(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data), "write");
    }
  }
  void put(hid_t parent, const char* name, const std::string& text) {
    const Handle type = string_type(text.size());
    require(type.valid(), "the HDF5 library could not make a string of ", text.size(), " bytes");
    put(parent, name, type.get(), scalar_.get(), text.c_str());
  }
  void put(hid_t parent, const char* name, index value) { put(parent, name, H5T_STD_I64LE, scalar_.get(), &value); }
  void put(hid_t parent, const char* name, std::uint64_t value) { put(parent, name, H5T_STD_U64LE, scalar_.get(), &value); }
  void put(hid_t parent, const char* name, double value) { put(parent, name, H5T_IEEE_F64LE, scalar_.get(), &value); }
  void put(hid_t parent, const char* name, bool value) {
    const std::uint8_t byte = value ? 1 : 0;
    put(parent, name, H5T_STD_U8LE, scalar_.get(), &byte);
  }
  void put(hid_t parent, const TensorView& tensor) {
    hsize_t extents[Shape::kMaxRank] = {};
    for (int axis = 0; axis < tensor.shape.rank(); ++axis) {
      extents[axis] = static_cast<hsize_t>(tensor.shape[axis]);
    }
    const Handle space = made(tensor.shape.rank() == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(tensor.shape.rank(), extents, nullptr),
                              H5Sclose, "a shape");
    put(parent, name_of(tensor).c_str(), H5T_IEEE_F32LE, space.get(), tensor.shape.size() == 0 ? nullptr : tensor.data);
  }

  void close() { require(file_.close(), "the HDF5 library could not close the file"); }

 private:
  /// No times; and links in the group's own header, not in heaps and trees, of which a reader refuses to have the library read any.
  static void plain_group(const Handle& properties) {
    checked(H5Pset_obj_track_times(properties.get(), false), "leave times out");
    checked(H5Pset_link_phase_change(properties.get(), 65535, 65534), "keep links together");
  }

  Handle scalar_, group_properties_, dataset_properties_, file_;
};

/// Checked, and in the folders that they go to.
Folders folders_of(const Snapshot& snapshot) {
  Folders folders{{"model", {}}};
  std::set<std::string_view> paths;
  for (const TensorView& tensor : snapshot.tensors) {
    const std::string folder = folder_of(tensor);
    require(tensor.type == ElementType::f32, "tensor ", tensor.path, ": elements of type ", name_of(tensor.type), " cannot be stored yet");
    require(folder == "model" || (folder.starts_with("optimizer/") && is_storable_name(folder.substr(folder.find('/') + 1))), "tensor \"",
            tensor.path, "\": this path cannot be stored, expected model/NAME or optimizer/SLAB/NAME");
    require(is_storable_name(name_of(tensor)), "tensor \"", tensor.path,
            "\": this name cannot be stored, expected one without slashes and control characters");
    require(paths.insert(tensor.path).second, "tensor ", tensor.path, " occurs twice");
    require(tensor.data != nullptr || tensor.shape.size() == 0, "tensor ", tensor.path, " has no data");
    folders[folder].push_back(&tensor);
    require_input(folders[folder].size() <= kMostTensors, "a model of more than ", kMostTensors,
                  " tensors cannot be stored: use fewer layers (model.n_layer)");
  }
  return folders;
}

void write_all(LentFile& lent, const Snapshot& snapshot, const Folders& folders) {
  ImageWriter writer(lent);
  {
    const Handle state = writer.group(writer.file(), "state");
    for_each_field(snapshot.state, [&](const char* name, const auto& value) { writer.put(state.get(), name, value); });
    writer.put(writer.file(), "config", snapshot.config);
    writer.put(writer.file(), "tokenizer", snapshot.tokenizer);
    const Handle optimizer = writer.group(writer.file(), "optimizer");
    for (const auto& [path, tensors] : folders) {
      const Handle folder = writer.group(writer.file(), path.c_str(), tensors);
      for (const TensorView* tensor : tensors) {
        writer.put(folder.get(), *tensor);
      }
    }
  }
  writer.close();
}

}  // namespace

index expected_bytes(const Snapshot& snapshot) {
  index bytes = kHeaderBytes + 64 * kOverheadBytes + static_cast<index>(snapshot.config.size() + snapshot.tokenizer.size());
  for_each_field(snapshot.state, [&](const char*, const auto& value) {
    if constexpr (std::is_same_v<decltype(value), const std::string&>) {
      bytes += static_cast<index>(value.size());
    }
  });
  for (const TensorView& tensor : snapshot.tensors) {
    bytes += kOverheadBytes + static_cast<index>(tensor.path.size()) + bytes_of(tensor.type, tensor.shape).value();
  }
  return bytes;
}

void write_image(File& file, const Snapshot& snapshot) {
  const Folders folders = folders_of(snapshot);
  const auto hdf5 = enter_hdf5();
  LentFile lent{.source = &file, .target = &file};
  try {
    write_all(lent, snapshot, folders);
  } catch (const Error&) {
    if (lent.error == 0) {
      throw;
    }
  }
  require_done(lent.error, lent.failed);
}

}  // namespace dikkat
