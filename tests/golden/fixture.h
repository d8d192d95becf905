#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <type_traits>
#include <vector>

#include <hdf5.h>

#include "autograd/base/error.h"
#include "autograd/base/index.h"

namespace dikkat {

/// A file of this folder, wherever the test runs.
inline std::filesystem::path golden(const char* file) { return std::filesystem::path(DIKKAT_SOURCE_DIR) / "tests" / "golden" / file; }

/// Reads the HDF5 files that hold PyTorch's numbers (README.md beside this file lists their contents). Names are paths inside the file
/// ("weights/wte.weight"). Every function throws an Error that names file and object if something is absent.
class Fixture {
 public:
  explicit Fixture(const std::filesystem::path& path)
      : path_(path), file_(quietly([&] { return H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT); }), H5Fclose) {
    check(file_.valid(), "the file itself");
  }

  /// All elements in row-major order, whatever number type the file holds; a scalar is one element.
  std::vector<double> read(const std::string& name) const { return elements<double>(name, H5T_NATIVE_DOUBLE); }
  std::vector<std::int32_t> read_ints(const std::string& name) const { return elements<std::int32_t>(name, H5T_NATIVE_INT32); }

  /// Extents; empty for a scalar.
  std::vector<index> shape(const std::string& name) const {
    const Handle dataset = open_dataset(name);
    const Handle space(H5Dget_space(dataset.id()), H5Sclose);
    const int rank = H5Sget_simple_extent_ndims(space.id());
    check(rank >= 0, name);
    std::vector<hsize_t> extents(static_cast<std::size_t>(rank));
    check(H5Sget_simple_extent_dims(space.id(), extents.data(), nullptr) >= 0, name);
    return {extents.begin(), extents.end()};
  }

  /// The names in a group, in alphabetical order; "/" is the file's root.
  std::vector<std::string> names(const std::string& group) const {
    std::vector<std::string> found;
    const auto add = [](hid_t, const char* name, const H5L_info_t*, void* out) -> herr_t {
      static_cast<std::vector<std::string>*>(out)->emplace_back(name);
      return 0;
    };
    check(quietly([&] {
            return H5Literate_by_name(file_.id(), group.c_str(), H5_INDEX_NAME, H5_ITER_INC, nullptr, add, &found, H5P_DEFAULT);
          }) >= 0,
          group);
    return found;
  }

  /// A number: "n_layer" is the file's own, "adamw/beta1" that of a group.
  double attribute(const std::string& name) const {
    const Handle attribute = open_attribute(name);
    const Handle space(H5Aget_space(attribute.id()), H5Sclose);
    double value = 0;
    check(H5Sget_simple_extent_npoints(space.id()) == 1 && quietly([&] { return H5Aread(attribute.id(), H5T_NATIVE_DOUBLE, &value); }) >= 0,
          name);
    return value;
  }

  /// A string of fixed length (numpy.bytes_ in Python).
  std::string text(const std::string& name) const {
    const Handle attribute = open_attribute(name);
    const Handle space(H5Aget_space(attribute.id()), H5Sclose);
    const Handle type(H5Aget_type(attribute.id()), H5Tclose);
    check(H5Sget_simple_extent_npoints(space.id()) == 1 && H5Tget_class(type.id()) == H5T_STRING && H5Tis_variable_str(type.id()) == 0,
          name);
    std::string value(H5Tget_size(type.id()), '\0');
    check(H5Aread(attribute.id(), type.id(), value.data()) >= 0, name);
    value.resize(std::min(value.find('\0'), value.size()));
    return value;
  }

 private:
  /// An HDF5 identifier and the call that gives it back.
  class Handle {
   public:
    using Close = herr_t (*)(hid_t);
    Handle(hid_t id, Close close) : id_(id), close_(close) {}
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;
    ~Handle() {
      if (valid()) {
        close_(id_);
      }
    }
    hid_t id() const { return id_; }
    bool valid() const { return id_ >= 0; }

   private:
    hid_t id_;
    Close close_;
  };

  /// Calls HDF5 without its own report on stderr: a failure throws.
  template <class Call>
  static std::invoke_result_t<Call> quietly(Call call) {
    std::invoke_result_t<Call> result{};
    H5E_BEGIN_TRY { result = call(); }
    H5E_END_TRY
    return result;
  }

  void check(bool ok, const std::string& name) const { require(ok, "fixture ", path_.string(), ": cannot read ", name); }

  Handle open_dataset(const std::string& name) const {
    const hid_t id = quietly([&] { return H5Dopen2(file_.id(), name.c_str(), H5P_DEFAULT); });
    check(id >= 0, name);
    return {id, H5Dclose};
  }

  Handle open_attribute(const std::string& name) const {
    const std::size_t slash = name.rfind('/');
    const std::string owner = slash == std::string::npos || slash == 0 ? "/" : name.substr(0, slash);
    const std::string key = slash == std::string::npos ? name : name.substr(slash + 1);
    const hid_t id = quietly([&] { return H5Aopen_by_name(file_.id(), owner.c_str(), key.c_str(), H5P_DEFAULT, H5P_DEFAULT); });
    check(id >= 0, name);
    return {id, H5Aclose};
  }

  template <class T>
  std::vector<T> elements(const std::string& name, hid_t type) const {
    const Handle dataset = open_dataset(name);
    const Handle space(H5Dget_space(dataset.id()), H5Sclose);
    const hssize_t count = H5Sget_simple_extent_npoints(space.id());
    check(count >= 0, name);
    std::vector<T> values(static_cast<std::size_t>(count));
    check(H5Dread(dataset.id(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >= 0, name);
    return values;
  }

  std::filesystem::path path_;
  Handle file_;
};

}  // namespace dikkat
