#include <algorithm>
#include <bit>
#include <limits>

#include "autograd/base/error.h"
#include "train/checkpoint/error_keeping_driver.h"
#include "train/checkpoint/header.h"
#include "train/checkpoint/image.h"
#include "train/checkpoint/stored_name.h"
#include "train/io/digits.h"

namespace dikkat {

namespace {

/// Where a dataset's numbers lie.
struct Place {
  Shape shape;
  index offset = 0;
  index bytes = 0;
};

struct Link {
  std::string name;
  bool hard = false;
};

herr_t collect(hid_t, const char* name, const H5L_info_t* info, void* out) {
  try {
    static_cast<std::vector<Link>*>(out)->push_back({name, info->type == H5L_TYPE_HARD});
    return 0;
  } catch (...) {
    return -1;  // the library is C: nothing may be thrown through it
  }
}

Shape shape_of(const hsize_t* extents, int rank, const std::string& path) {
  index size = 1;
  std::vector<index> e;
  for (int axis = 0; axis < rank; ++axis) {
    require_input(extents[axis] <= hsize_t{std::numeric_limits<index>::max()}, path, " is too large");
    e.push_back(static_cast<index>(extents[axis]));
    require_input(!__builtin_mul_overflow(size, e.back(), &size), path, " has more elements than can be counted");
  }
  return Shape(e);
}

class ImageParser {
 public:
  ImageParser(LentFile& lent, index format) : source_(*lent.source), source_bytes_(lent.bytes), format_(format) {
    const Handle access = driver_access(lent);
    require(access.valid(), "the HDF5 library could not take the file driver");
    file_ = opened(H5Fopen("checkpoint", H5F_ACC_RDONLY, access.get()), H5Fclose, "the HDF5 image");
    const auto bytes = static_cast<haddr_t>(source_bytes_);
    require_input(lent.end == bytes, "holds ", bytes - lent.end, " bytes after the HDF5 image, expected none");
  }

  ImageIndex parse() {
    ImageIndex index;
    require_names(file_.get(), "/", {"config", "model", "optimizer", "state", "tokenizer"});
    index.config = text(file_.get(), "config", "/config");
    index.tokenizer = text(file_.get(), "tokenizer", "/tokenizer");
    parse_state(index.state);
    const Handle optimizer = opened(H5Gopen2(file_.get(), "optimizer", H5P_DEFAULT), H5Gclose, "/optimizer");
    parse_tensors("model", index.tensors);
    for (const std::string& slab : names_in(optimizer.get(), "/optimizer")) {
      parse_tensors("optimizer/" + slab, index.tensors);
    }
    std::sort(index.tensors.begin(), index.tensors.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
    require_input(tensor_bytes_ <= source_bytes_, "its tensors are said to hold ", grouped_digits(tensor_bytes_),
                  " bytes in all, more than the file: some share theirs");
    return index;
  }

 private:
  static Handle opened(hid_t id, Handle::Close close, const std::string& path) {
    Handle handle(id, close);
    require_input(handle.valid(), path, " is missing or damaged");
    return handle;
  }

  /// The names in a group, sorted. Only links that hold an object of this very file are accepted.
  static std::vector<std::string> names_in(hid_t group, const std::string& path) {
    H5G_info_t info{};
    require_input(H5Gget_info(group, &info) >= 0, path, " is damaged");
    // Links in heaps and trees are not for us: 1.10.8 frees wild pointers when it fails to read them.
    require_input(info.storage_type == H5G_STORAGE_TYPE_COMPACT, path, " does not hold its links itself");
    std::vector<Link> links;
    require_input(H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, nullptr, collect, &links) >= 0, path, " cannot be listed");
    std::vector<std::string> names;
    for (Link& link : links) {
      require_input(link.hard, path, " holds a link (", link.name, "), expected data");
      require_input(is_storable_name(link.name), path, " holds a bad name");
      names.push_back(std::move(link.name));
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  /// `expected` is sorted.
  void require_names(hid_t group, const std::string& path, const std::vector<std::string>& expected) const {
    const std::vector<std::string> found = names_in(group, path);
    for (const std::string& name : expected) {
      require_input(std::binary_search(found.begin(), found.end(), name), path, " lacks ", name);
    }
    for (const std::string& name : found) {
      require_input(std::binary_search(expected.begin(), expected.end(), name), path, " holds ", name, ", which format ", format_,
                    " does not have");
    }
    require_input(found.size() == expected.size(), path, " holds a name twice");
  }

  static Handle open_dataset(hid_t parent, const std::string& name, const std::string& path) {
    return opened(H5Dopen2(parent, name.c_str(), H5P_DEFAULT), H5Dclose, path);
  }
  static Handle type_of(const Handle& dataset, const std::string& path) { return opened(H5Dget_type(dataset.get()), H5Tclose, path); }

  /// The layout is looked at first: for others than the contiguous one, questions about the shape can open other files.
  Place locate(const Handle& dataset, std::size_t element_bytes, const std::string& path) const {
    const Handle properties = opened(H5Dget_create_plist(dataset.get()), H5Pclose, path);
    require_input(H5Pget_layout(properties.get()) == H5D_CONTIGUOUS, path, " is not stored in one piece");
    require_input(H5Pget_external_count(properties.get()) == 0, path, " lies in another file");
    require_input(H5Pget_nfilters(properties.get()) == 0, path, " is compressed or filtered");
    const Handle space = opened(H5Dget_space(dataset.get()), H5Sclose, path);
    const H5S_class_t kind = H5Sget_simple_extent_type(space.get());
    require_input(kind == H5S_SCALAR || kind == H5S_SIMPLE, path, " has no shape");
    hsize_t extents[H5S_MAX_RANK] = {};
    const int rank = H5Sget_simple_extent_dims(space.get(), extents, nullptr);
    require_input(rank >= 0 && rank <= Shape::kMaxRank, path, " has rank ", rank, ", expected at most ", Shape::kMaxRank);

    Place place{.shape = shape_of(extents, rank, path)};
    require_input(!__builtin_mul_overflow(place.shape.size(), static_cast<index>(element_bytes), &place.bytes), path, " is too large");
    if (place.bytes > 0) {
      const haddr_t offset = H5Dget_offset(dataset.get());
      require_input(offset != HADDR_UNDEF && offset >= haddr_t{kHeaderBytes} && offset <= static_cast<haddr_t>(source_bytes_) &&
                        place.bytes <= source_bytes_ - static_cast<index>(offset),
                    path, " is said to hold ", grouped_digits(place.bytes), " bytes, which the file does not have");
      place.offset = static_cast<index>(offset);
    }
    return place;
  }

  void fetch(index offset, std::span<std::byte> out) const { require_done(source_.read(offset, out), Operation::read); }

  std::string text(hid_t parent, const std::string& name, const std::string& path) const {
    const Handle dataset = open_dataset(parent, name, path);
    const Handle type = type_of(dataset, path);
    const std::size_t size = H5Tget_size(type.get());
    const Handle expected = string_type(size - 1);
    require_input(size > 0 && expected.valid() && H5Tequal(type.get(), expected.get()) > 0, path, " is not a string of the expected kind");
    const Place place = locate(dataset, size, path);
    require_input(place.shape == Shape{}, path, " has shape ", place.shape, ", expected one string");
    require_input(place.bytes <= kMaxTextBytes, path, " has ", grouped_digits(place.bytes), " bytes, expected at most ",
                  grouped_digits(kMaxTextBytes));
    std::string value(size, '\0');
    fetch(place.offset, std::as_writable_bytes(std::span(value)));
    require_input(value.back() == '\0', path, " is a string without an end");
    value.pop_back();
    return value;
  }

  template <class T>
  T scalar(hid_t parent, const std::string& name, const std::string& path, hid_t expected) const {
    const Handle dataset = open_dataset(parent, name, path);
    const Handle type = type_of(dataset, path);
    require_input(H5Tequal(type.get(), expected) > 0, path, " has another type than expected");
    const Place place = locate(dataset, sizeof(T), path);
    require_input(place.shape == Shape{}, path, " has shape ", place.shape, ", expected one number");
    T value{};
    fetch(place.offset, std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }

  void take(hid_t parent, const std::string& name, const std::string& path, std::string& out) const { out = text(parent, name, path); }
  void take(hid_t parent, const std::string& name, const std::string& path, index& out) const {
    const index least = name == "best_step" ? -1 : 0;
    out = scalar<index>(parent, name, path, H5T_STD_I64LE);
    require_input(out >= least, path, " is ", out, ", expected ", least, " or more");
  }
  void take(hid_t parent, const std::string& name, const std::string& path, std::uint64_t& out) const {
    out = scalar<std::uint64_t>(parent, name, path, H5T_STD_U64LE);
  }
  void take(hid_t parent, const std::string& name, const std::string& path, double& out) const {
    out = scalar<double>(parent, name, path, H5T_IEEE_F64LE);
  }
  void take(hid_t parent, const std::string& name, const std::string& path, bool& out) const {
    const auto byte = scalar<std::uint8_t>(parent, name, path, H5T_STD_U8LE);
    require_input(byte <= 1, path, " is ", byte, ", expected 0 or 1");
    out = byte == 1;
  }

  void parse_state(TrainingState& state) const {
    const Handle group = opened(H5Gopen2(file_.get(), "state", H5P_DEFAULT), H5Gclose, "/state");
    std::vector<std::string> fields;
    const auto has = [&](const char* name) { return format_of_field(name) <= format_; };
    for_each_field(state, [&](const char* name, const auto&) {
      if (has(name)) {
        fields.emplace_back(name);
      }
    });
    std::sort(fields.begin(), fields.end());
    require_names(group.get(), "/state", fields);
    for_each_field(state, [&](const char* name, auto& value) {
      if (has(name)) {
        take(group.get(), name, concat("/state/", name), value);
      }
    });
  }

  void parse_tensors(const std::string& group, std::vector<StoredTensor>& tensors) {
    const std::string folder_path = concat('/', group);
    const Handle folder = opened(H5Gopen2(file_.get(), folder_path.c_str(), H5P_DEFAULT), H5Gclose, folder_path);
    for (const std::string& name : names_in(folder.get(), folder_path)) {
      const std::string path = concat(folder_path, '/', name);
      const Handle dataset = open_dataset(folder.get(), name, path);
      const Handle type = type_of(dataset, path);
      require_input(H5Tequal(type.get(), H5T_IEEE_F32LE) > 0, path, " is not of 32-bit little-endian floats");
      const Place place = locate(dataset, sizeof(float), path);
      require_input(!__builtin_add_overflow(tensor_bytes_, place.bytes, &tensor_bytes_), path, " is too large");
      tensors.push_back({.path = path.substr(1), .shape = place.shape, .offset = place.offset, .bytes = place.bytes});
    }
  }

  const File& source_;
  index source_bytes_;
  index format_;
  Handle file_;
  index tensor_bytes_ = 0;
};

}  // namespace

ImageIndex parse_image(const File& file, index format) {
  const auto hdf5 = enter_hdf5();
  LentFile lent{.source = &file, .bytes = file.size()};
  ImageIndex image;
  try {
    image = ImageParser(lent, format).parse();
  } catch (const InputError&) {
    require_done(lent.error, lent.failed);  // the disk failed and not the file
    throw;
  }
  require_done(lent.error, lent.failed);  // the library can miss that a read failed
  return image;
}

}  // namespace dikkat
