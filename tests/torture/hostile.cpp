// Checkpoints from a stranger: their checksums are right, their contents are hostile. Writes each as FOLDER/NAME.h5, beside other.h5, a
// file that none of them has any business to lead to; prints the names. `good.h5` among them is sealed without a change.
#include <functional>
#include <utility>

#include <hdf5.h>

#include "tests/torture/program.h"
#include "tests/torture/tally.h"
#include "tests/train/checkpoint/sample.h"

namespace dikkat::torture {
namespace {

using Tamper = std::function<void(hid_t file)>;
using Extents = std::vector<hsize_t>;

constexpr const char* kTensor = "/model/wte.weight";
constexpr const char* kNumber = "/state/step";
constexpr const char* kText = "/config";

void done(herr_t result, const char* what) { require(result >= 0, "hostile: HDF5 refuses to ", what); }

void remove(hid_t file, const char* name) { done(H5Ldelete(file, name, H5P_DEFAULT), "remove an object"); }

hid_t space_of(const Extents& extents) {
  return extents.empty() ? H5Screate(H5S_SCALAR) : H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr);
}

/// A dataset in place of the one of this name.
void replace(hid_t file, const char* name, hid_t type, const Extents& extents, hid_t properties = H5P_DEFAULT) {
  remove(file, name);
  const hid_t space = space_of(extents);
  const hid_t dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  require(dataset >= 0, "hostile: HDF5 refuses to make ", name);
  H5Dclose(dataset);
  H5Sclose(space);
}

/// The same with properties that `set` sets.
Tamper with(const char* name, hid_t type, Extents extents, std::function<void(hid_t properties)> set) {
  return [=](hid_t file) {
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    set(properties);
    replace(file, name, type, extents, properties);
    H5Pclose(properties);
  };
}

Tamper typed(const char* name, const std::function<hid_t()>& make_type, Extents extents) {
  return [=](hid_t file) {
    const hid_t type = make_type();
    replace(file, name, type, extents);
    H5Tclose(type);
  };
}

Tamper as(const char* name, hid_t type, Extents extents) {
  return typed(
      name, [type] { return H5Tcopy(type); }, std::move(extents));
}

/// Another value in a dataset of one number.
template <class T>
Tamper value(const char* name, hid_t type, T number) {
  return [=](hid_t file) {
    const hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
    done(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, &number), "write a number");
    H5Dclose(dataset);
  };
}

hid_t string_of(std::size_t size) {
  const hid_t type = H5Tcopy(H5T_C_S1);
  done(H5Tset_size(type, size), "make a string");
  return type;
}

void add_links(std::vector<std::pair<std::string, Tamper>>& cases, const std::string& other) {
  for (const auto& [name, path] :
       {std::pair{"text", "/config"}, {"group", "/model"}, {"tensor", kTensor}, {"number", kNumber}, {"moments", "/optimizer/m"}}) {
    const std::string at = path;
    cases.emplace_back(concat("external-link-", name), [=](hid_t file) {
      remove(file, at.c_str());
      done(H5Lcreate_external(other.c_str(), at.c_str(), file, at.c_str(), H5P_DEFAULT, H5P_DEFAULT), "link");
    });
    cases.emplace_back(concat("soft-link-to-nothing-", name), [=](hid_t file) {
      remove(file, at.c_str());
      done(H5Lcreate_soft("/nowhere", file, at.c_str(), H5P_DEFAULT, H5P_DEFAULT), "link");
    });
  }
  cases.emplace_back("soft-link", [](hid_t file) {
    remove(file, kTensor);
    done(H5Lcreate_soft("/optimizer/m/wte.weight", file, kTensor, H5P_DEFAULT, H5P_DEFAULT), "link");
  });
  cases.emplace_back("soft-link-loop", [](hid_t file) {
    remove(file, kText);
    done(H5Lcreate_soft("/config", file, kText, H5P_DEFAULT, H5P_DEFAULT), "link");
  });
  cases.emplace_back("soft-link-loop-of-two", [](hid_t file) {
    remove(file, kText);
    remove(file, "/tokenizer");
    done(H5Lcreate_soft("/tokenizer", file, kText, H5P_DEFAULT, H5P_DEFAULT), "link");
    done(H5Lcreate_soft("/config", file, "/tokenizer", H5P_DEFAULT, H5P_DEFAULT), "link");
  });
  cases.emplace_back("hard-link-loop",
                     [](hid_t file) { done(H5Lcreate_hard(file, "/", file, "/model/loop", H5P_DEFAULT, H5P_DEFAULT), "link"); });
  cases.emplace_back("hard-link-to-itself",
                     [](hid_t file) { done(H5Lcreate_hard(file, "/model", file, "/model/model", H5P_DEFAULT, H5P_DEFAULT), "link"); });
  cases.emplace_back("root-in-place-of-a-group", [](hid_t file) {
    remove(file, "/model");
    done(H5Lcreate_hard(file, "/", file, "/model", H5P_DEFAULT, H5P_DEFAULT), "link");
  });
  cases.emplace_back("text-in-place-of-a-group", [](hid_t file) {
    remove(file, "/model");
    done(H5Lcreate_hard(file, "/config", file, "/model", H5P_DEFAULT, H5P_DEFAULT), "link");
  });
  cases.emplace_back("group-in-place-of-a-text", [](hid_t file) {
    remove(file, kText);
    H5Gclose(H5Gcreate2(file, kText, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  });
  cases.emplace_back("type-in-place-of-a-text", [](hid_t file) {
    remove(file, kText);
    const hid_t type = H5Tcopy(H5T_NATIVE_INT);
    done(H5Tcommit2(file, kText, type, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "commit a type");
    H5Tclose(type);
  });
  cases.emplace_back("object-too-many",
                     [](hid_t file) { done(H5Lcreate_hard(file, "config", file, "extra", H5P_DEFAULT, H5P_DEFAULT), "link"); });
  cases.emplace_back("thousand-links", [](hid_t file) {  // as many as go into a heap and a tree
    for (int i = 0; i < 1000; ++i) {
      done(H5Lcreate_hard(file, kTensor, file, concat("/model/extra-", i).c_str(), H5P_DEFAULT, H5P_DEFAULT), "link");
    }
  });
}

void add_storage(std::vector<std::pair<std::string, Tamper>>& cases, const std::string& other) {
  for (const auto& [what, name, type, extents] :
       {std::tuple{"tensor", kTensor, H5T_IEEE_F32LE, Extents{5, 3}}, {"number", kNumber, H5T_STD_I64LE, Extents{}}}) {
    cases.emplace_back(concat("external-storage-", what),
                       with(name, type, extents, [=](hid_t p) { done(H5Pset_external(p, other.c_str(), 0, 60), "lie in another file"); }));
    cases.emplace_back(concat("external-storage-passwd-", what),
                       with(name, type, extents, [](hid_t p) { done(H5Pset_external(p, "/etc/passwd", 0, 60), "lie in another file"); }));
    cases.emplace_back(concat("compact-", what),
                       with(name, type, extents, [](hid_t p) { done(H5Pset_layout(p, H5D_COMPACT), "be compact"); }));
  }
  const auto chunked = [](const std::function<void(hid_t)>& filter) {
    return with(kTensor, H5T_IEEE_F32LE, {5, 3}, [=](hid_t p) {
      const hsize_t chunk[] = {5, 3};
      done(H5Pset_chunk(p, 2, chunk), "be in chunks");
      filter(p);
    });
  };
  cases.emplace_back("chunked", chunked([](hid_t) {}));
  cases.emplace_back("filter-fletcher32", chunked([](hid_t p) { done(H5Pset_fletcher32(p), "filter"); }));
  cases.emplace_back("filter-shuffle", chunked([](hid_t p) { done(H5Pset_shuffle(p), "filter"); }));
  cases.emplace_back("filter-deflate", chunked([](hid_t p) {
                       if (H5Zfilter_avail(H5Z_FILTER_DEFLATE) > 0) {
                         done(H5Pset_deflate(p, 9), "filter");
                       }
                     }));
  cases.emplace_back("filter-unknown", chunked([](hid_t p) {  // one that would be loaded from a library
                       done(H5Pset_filter(p, 32001, H5Z_FLAG_OPTIONAL, 0, nullptr), "filter");
                     }));
  cases.emplace_back("virtual", [=](hid_t file) {
    const hid_t space = space_of({5, 3});
    with(kTensor, H5T_IEEE_F32LE, {5, 3},
         [&](hid_t p) { done(H5Pset_virtual(p, space, other.c_str(), "/data", space), "be virtual"); })(file);
    H5Sclose(space);
  });
  cases.emplace_back("virtual-of-itself", [](hid_t file) {
    const hid_t space = space_of({5, 3});
    with(kTensor, H5T_IEEE_F32LE, {5, 3}, [&](hid_t p) { done(H5Pset_virtual(p, space, ".", kTensor, space), "be virtual"); })(file);
    H5Sclose(space);
  });
}

void add_types(std::vector<std::pair<std::string, Tamper>>& cases) {
  const std::pair<const char*, std::function<hid_t()>> types[] = {
      {"f64", [] { return H5Tcopy(H5T_IEEE_F64LE); }},
      {"f32-big-endian", [] { return H5Tcopy(H5T_IEEE_F32BE); }},
      {"i32", [] { return H5Tcopy(H5T_STD_I32LE); }},
      {"i64-big-endian", [] { return H5Tcopy(H5T_STD_I64BE); }},
      {"string", [] { return string_of(7); }},
      {"string-of-any-length", [] { return string_of(H5T_VARIABLE); }},
      {"bytes", [] { return H5Tcreate(H5T_OPAQUE, 4); }},
      {"reference", [] { return H5Tcopy(H5T_STD_REF_OBJ); }},
      {"lists", [] { return H5Tvlen_create(H5T_IEEE_F32LE); }},
      {"array",
       [] {
         const hsize_t extents[] = {2};
         return H5Tarray_create2(H5T_IEEE_F32LE, 1, extents);
       }},
      {"compound",
       [] {
         const hid_t type = H5Tcreate(H5T_COMPOUND, 4);
         done(H5Tinsert(type, "x", 0, H5T_IEEE_F32LE), "make a compound");
         return type;
       }},
      {"enumeration", [] { return H5Tenum_create(H5T_STD_I32LE); }},
  };
  for (const auto& [name, make] : types) {
    if (std::string_view(name) != "enumeration") {
      cases.emplace_back(concat("tensor-of-", name), typed(kTensor, make, {5, 3}));
    }
    cases.emplace_back(concat("number-of-", name),
                       std::string_view(name) == "enumeration" ? as(kNumber, H5T_STD_U64LE, {}) : typed(kNumber, make, {}));
  }
  cases.emplace_back("text-that-is-a-number", as(kText, H5T_STD_I64LE, {}));
  cases.emplace_back("text-of-any-length", typed(kText, [] { return string_of(H5T_VARIABLE); }, {}));
  cases.emplace_back("text-without-an-end", [](hid_t file) {
    replace(file, kText, string_of(5), {});
    const hid_t dataset = H5Dopen2(file, kText, H5P_DEFAULT);
    done(H5Dwrite(dataset, string_of(5), H5S_ALL, H5S_ALL, H5P_DEFAULT, "12345"), "write a text");
    H5Dclose(dataset);
  });
  cases.emplace_back("text-of-a-tebibyte", typed(kText, [] { return string_of((std::size_t{1} << 32) - 1); }, {}));
  cases.emplace_back("texts", typed(kText, [] { return string_of(7); }, {3}));
}

void add_shapes(std::vector<std::pair<std::string, Tamper>>& cases) {
  cases.emplace_back("rank-5", as(kTensor, H5T_IEEE_F32LE, {1, 1, 1, 5, 3}));
  cases.emplace_back("rank-32", as(kTensor, H5T_IEEE_F32LE, Extents(32, 1)));
  cases.emplace_back("four-tebibytes", as(kTensor, H5T_IEEE_F32LE, {hsize_t{1} << 40}));
  cases.emplace_back("shape-that-overflows", as(kTensor, H5T_IEEE_F32LE, {hsize_t{1} << 31, hsize_t{1} << 30}));
  cases.emplace_back("numbers", as(kNumber, H5T_STD_I64LE, {2}));
  cases.emplace_back("many-numbers", as(kNumber, H5T_STD_I64LE, {hsize_t{1} << 40}));
  cases.emplace_back("no-shape", [](hid_t file) {
    remove(file, kTensor);
    const hid_t space = H5Screate(H5S_NULL);
    H5Dclose(H5Dcreate2(file, kTensor, H5T_IEEE_F32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Sclose(space);
  });
  cases.emplace_back("tensor-without-storage", as(kTensor, H5T_IEEE_F32LE, {5, 3}));
  cases.emplace_back("number-without-storage", as(kNumber, H5T_STD_I64LE, {}));
}

void add_state(std::vector<std::pair<std::string, Tamper>>& cases) {
  for (const char* name : {"/state/epoch", "/state/seed", "/tokenizer", "/config", "/optimizer/v", "/model", "/state"}) {
    std::string label = concat("lacks", name);
    std::replace(label.begin(), label.end(), '/', '-');
    cases.emplace_back(label, [name](hid_t file) { remove(file, name); });
  }
  cases.emplace_back("state-too-many",
                     [](hid_t file) { done(H5Lcreate_hard(file, kNumber, file, "/state/mood", H5P_DEFAULT, H5P_DEFAULT), "link"); });
  cases.emplace_back("bool-that-is-2", value<unsigned char>("/state/evaluation_pending", H5T_NATIVE_UCHAR, 2));
  cases.emplace_back("another-step", value<std::int64_t>(kNumber, H5T_NATIVE_INT64, 9));
  cases.emplace_back("negative-step", value<std::int64_t>(kNumber, H5T_NATIVE_INT64, -1));
}

/// What takes no HDF5 library to make.
void add_images(std::vector<std::pair<std::string, std::string>>& images, const std::string& good) {
  const std::string header(std::size_t{kHeaderBytes}, '\0');
  const std::string image = good.substr(std::size_t{kHeaderBytes});
  images.emplace_back("no-hdf5", std::string(1000, 'x'));
  images.emplace_back("nothing", "");
  images.emplace_back("signature-alone", image.substr(0, 8));
  images.emplace_back("superblock-alone", image.substr(0, 48));
  images.emplace_back("half-an-image", image.substr(0, image.size() / 2));
  images.emplace_back("image-without-its-end", image.substr(0, image.size() - 1));
  images.emplace_back("two-images", image + image);
  images.emplace_back("image-of-zeros", std::string(image.size(), '\0'));
  std::string early = image;
  early.replace(8, 1, 1, '\0');  // another version of the superblock
  images.emplace_back("old-superblock", early);
}

int run(const std::filesystem::path& folder) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  const std::filesystem::path good = save_checkpoint(folder, Sample().snapshot).path();
  const index step = Sample().snapshot.state.step;
  const std::string bytes = read_file(good);
  std::filesystem::copy(good, folder / "other.h5");

  std::vector<std::pair<std::string, Tamper>> cases = {{"good", [](hid_t) {}}};
  const std::string other = folder / "other.h5";
  add_links(cases, other);
  add_storage(cases, other);
  add_types(cases);
  add_shapes(cases);
  add_state(cases);
  std::vector<std::pair<std::string, std::string>> images;
  add_images(images, bytes);

  nlohmann::json names = nlohmann::json::array();
  for (const auto& [name, tamper] : cases) {
    const std::filesystem::path path = folder / (name + ".h5");
    write_file(path, bytes);
    const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    require(file >= 0, "hostile: HDF5 refuses to open the checkpoint");
    tamper(file);
    done(H5Fclose(file), "close the file");
    seal(path, step);
    names.push_back(name);
  }
  for (const auto& [name, image] : images) {
    const std::filesystem::path path = folder / (name + ".h5");
    write_file(path, std::string(std::size_t{kHeaderBytes}, '\0') + image);
    seal(path, step);
    names.push_back(name);
  }
  std::filesystem::remove(good);
  std::cout << names << std::endl;
  return 0;
}

}  // namespace
}  // namespace dikkat::torture

int main(int argc, char** argv) {
  using namespace dikkat::torture;
  return run_program("hostile FOLDER", [&] { return run(argc > 1 ? argv[1] : ""); });
}
