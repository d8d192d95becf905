#include <functional>

#include <gtest/gtest.h>
#include <hdf5.h>

#include "tests/train/checkpoint/sample.h"

namespace dikkat {
namespace {

/// A good checkpoint changed through the HDF5 library and sealed again: its checksums are right, its contents are hostile.
class Hostile : public testing::Test {
 protected:
  std::string refusal_after(const std::function<void(hid_t file)>& tamper) {
    std::filesystem::remove(path_);
    save_checkpoint(scratch_.path(), sample_.snapshot);
    const hid_t file = H5Fopen(path_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    EXPECT_GE(file, 0);
    tamper(file);
    EXPECT_GE(H5Fclose(file), 0);
    seal(path_, sample_.snapshot.state.step);
    return refusal(path_);
  }

  void expect_refused(const char* words, const std::function<void(hid_t file)>& tamper) {
    const std::string text = refusal_after(tamper);
    EXPECT_NE(text.find(words), std::string::npos) << '"' << text << "\" lacks \"" << words << '"';
  }

  ScratchDirectory scratch_;
  Sample sample_;
  std::filesystem::path path_ = scratch_ / "step-000000007.h5";
};

void remove(hid_t file, const char* name) { ASSERT_GE(H5Ldelete(file, name, H5P_DEFAULT), 0); }

/// A dataset in place of the one of this name, with other properties.
void replace(hid_t file, const char* name, hid_t type, const std::vector<hsize_t>& extents, hid_t properties = H5P_DEFAULT) {
  remove(file, name);
  const hid_t space = extents.empty() ? H5Screate(H5S_SCALAR) : H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr);
  const hid_t dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  ASSERT_GE(dataset, 0);
  H5Dclose(dataset);
  H5Sclose(space);
}

hid_t properties_with(const std::function<herr_t(hid_t)>& set) {
  const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
  EXPECT_GE(set(properties), 0);
  return properties;
}

constexpr const char* kTensor = "/model/wte.weight";

TEST_F(Hostile, SealedWithoutAChangeItIsAccepted) {
  EXPECT_EQ(refusal_after([](hid_t) {}), "");
}

TEST_F(Hostile, Links) {
  expect_refused("holds a link (config)", [](hid_t file) {
    remove(file, "config");
    H5Lcreate_external("/etc/other.h5", "/config", file, "config", H5P_DEFAULT, H5P_DEFAULT);
  });
  expect_refused("holds a link (model)", [](hid_t file) {
    remove(file, "model");
    H5Lcreate_external("other.h5", "/model", file, "model", H5P_DEFAULT, H5P_DEFAULT);
  });
  expect_refused("holds a link (wte.weight)", [](hid_t file) {
    remove(file, kTensor);
    H5Lcreate_soft("/optimizer/m/wte.weight", file, kTensor, H5P_DEFAULT, H5P_DEFAULT);
  });
  expect_refused("holds a link (m)", [](hid_t file) {
    remove(file, "/optimizer/m");
    H5Lcreate_soft("/model", file, "/optimizer/m", H5P_DEFAULT, H5P_DEFAULT);
  });
  expect_refused("/model holds a bad name", [](hid_t file) { H5Lmove(file, kTensor, file, "/model/\x1B[2J", H5P_DEFAULT, H5P_DEFAULT); });
  expect_refused("holds extra, which format 2 does not have",
                 [](hid_t file) { H5Lcreate_hard(file, "config", file, "extra", H5P_DEFAULT, H5P_DEFAULT); });
  expect_refused("/model/loop is missing or damaged",
                 [](hid_t file) { H5Lcreate_hard(file, "/", file, "/model/loop", H5P_DEFAULT, H5P_DEFAULT); });
}

TEST_F(Hostile, Storage) {
  const hid_t external = properties_with([](hid_t p) { return H5Pset_external(p, "/etc/passwd", 0, 60); });
  expect_refused("lies in another file", [&](hid_t file) { replace(file, kTensor, H5T_IEEE_F32LE, {5, 3}, external); });
  H5Pclose(external);

  const hsize_t chunk[] = {5, 3};
  const hid_t chunked = properties_with([&](hid_t p) { return H5Pset_chunk(p, 2, chunk); });
  expect_refused("is not stored in one piece", [&](hid_t file) { replace(file, kTensor, H5T_IEEE_F32LE, {5, 3}, chunked); });
  H5Pset_fletcher32(chunked);
  expect_refused("is not stored in one piece", [&](hid_t file) { replace(file, kTensor, H5T_IEEE_F32LE, {5, 3}, chunked); });
  H5Pclose(chunked);

  const hid_t compact = properties_with([](hid_t p) { return H5Pset_layout(p, H5D_COMPACT); });
  expect_refused("is not stored in one piece", [&](hid_t file) { replace(file, kTensor, H5T_IEEE_F32LE, {5, 3}, compact); });
  H5Pclose(compact);

  const hsize_t extents[] = {5, 3};
  const hid_t space = H5Screate_simple(2, extents, nullptr);
  const hid_t virtual_layout = properties_with([&](hid_t p) { return H5Pset_virtual(p, space, "/etc/other.h5", "/data", space); });
  expect_refused("is not stored in one piece", [&](hid_t file) { replace(file, kTensor, H5T_IEEE_F32LE, {5, 3}, virtual_layout); });
  H5Pclose(virtual_layout);
  H5Sclose(space);
}

TEST_F(Hostile, Types) {
  expect_refused("is not of 32-bit little-endian floats", [](hid_t file) { replace(file, kTensor, H5T_IEEE_F64LE, {5, 3}); });
  expect_refused("is not of 32-bit little-endian floats", [](hid_t file) { replace(file, kTensor, H5T_IEEE_F32BE, {5, 3}); });
  expect_refused("is not of 32-bit little-endian floats", [](hid_t file) { replace(file, kTensor, H5T_STD_I32LE, {5, 3}); });
  expect_refused("/state/step has another type", [](hid_t file) { replace(file, "/state/step", H5T_STD_I32LE, {}); });
  expect_refused("/state/seed has another type", [](hid_t file) { replace(file, "/state/seed", H5T_STD_I64LE, {}); });
  expect_refused("/config is not a string", [](hid_t file) { replace(file, "/config", H5T_STD_I64LE, {}); });
  expect_refused("/config is not a string", [](hid_t file) {
    const hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    replace(file, "/config", type, {});
    H5Tclose(type);
  });
  expect_refused("/config is missing or damaged", [](hid_t file) {
    remove(file, "/config");
    const hid_t type = H5Tcopy(H5T_NATIVE_INT);
    H5Tcommit2(file, "/config", type, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Tclose(type);  // or the file stays open
  });
  expect_refused("/model is missing or damaged", [](hid_t file) {
    remove(file, "/model");
    H5Lcreate_hard(file, "/config", file, "/model", H5P_DEFAULT, H5P_DEFAULT);
  });
}

TEST_F(Hostile, Shapes) {
  expect_refused("has rank 5", [](hid_t file) { replace(file, kTensor, H5T_IEEE_F32LE, {1, 1, 1, 5, 3}); });
  expect_refused("has rank 32", [](hid_t file) { replace(file, kTensor, H5T_IEEE_F32LE, std::vector<hsize_t>(32, 1)); });
  expect_refused("which the file does not have", [](hid_t file) { replace(file, kTensor, H5T_IEEE_F32LE, {hsize_t{1} << 40}); });
  expect_refused("/state/step has shape [2]", [](hid_t file) {
    const hid_t early = properties_with([](hid_t p) { return H5Pset_alloc_time(p, H5D_ALLOC_TIME_EARLY); });
    replace(file, "/state/step", H5T_STD_I64LE, {2}, early);
    H5Pclose(early);
  });
  expect_refused("has no shape", [](hid_t file) {
    remove(file, kTensor);
    const hid_t space = H5Screate(H5S_NULL);
    H5Dclose(H5Dcreate2(file, kTensor, H5T_IEEE_F32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Sclose(space);
  });
}

TEST_F(Hostile, TensorsThatShareTheirNumbers) {
  expect_refused("bytes in all, more than the file: some share theirs", [](hid_t file) {
    const hid_t large = properties_with([](hid_t p) { return H5Pset_alloc_time(p, H5D_ALLOC_TIME_EARLY); });
    replace(file, kTensor, H5T_IEEE_F32LE, {1 << 14}, large);  // more than half of the file
    H5Lcreate_hard(file, kTensor, file, "/model/again", H5P_DEFAULT, H5P_DEFAULT);
    H5Pclose(large);
  });
}

TEST_F(Hostile, BytesAfterTheImage) {
  save_checkpoint(scratch_.path(), sample_.snapshot);
  write_file(path_, read_file(path_) + "hidden");
  seal(path_, sample_.snapshot.state.step);
  EXPECT_NE(refusal(path_).find("holds 6 bytes after the HDF5 image, expected none"), std::string::npos) << refusal(path_);
}

TEST_F(Hostile, State) {
  expect_refused("/state lacks epoch", [](hid_t file) { remove(file, "/state/epoch"); });
  expect_refused("/state holds mood, which format 2 does not have",
                 [](hid_t file) { H5Lcreate_hard(file, "/state/step", file, "/state/mood", H5P_DEFAULT, H5P_DEFAULT); });
  expect_refused("/state/evaluation_pending is 2, expected 0 or 1", [](hid_t file) {
    const hid_t dataset = H5Dopen2(file, "/state/evaluation_pending", H5P_DEFAULT);
    const unsigned char two = 2;
    H5Dwrite(dataset, H5T_NATIVE_UCHAR, H5S_ALL, H5S_ALL, H5P_DEFAULT, &two);
    H5Dclose(dataset);
  });
  expect_refused("step 7 in its header, step 9 in /state/step", [](hid_t file) {
    const hid_t dataset = H5Dopen2(file, "/state/step", H5P_DEFAULT);
    const index nine = 9;
    H5Dwrite(dataset, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, &nine);
    H5Dclose(dataset);
  });
  expect_refused("/state/samples_seen is -1, expected 0 or more", [](hid_t file) {
    const hid_t dataset = H5Dopen2(file, "/state/samples_seen", H5P_DEFAULT);
    const index none = -1;
    H5Dwrite(dataset, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, &none);
    H5Dclose(dataset);
  });
  expect_refused("/ lacks tokenizer", [](hid_t file) { remove(file, "/tokenizer"); });
}

TEST_F(Hostile, AnImageThatIsNoHdf5) {
  write_file(path_, std::string(kHeaderBytes, '\0') + std::string(1000, 'x'));
  seal(path_, 7);
  EXPECT_NE(refusal(path_).find("the HDF5 image is missing or damaged"), std::string::npos);
  write_file(path_, std::string(kHeaderBytes, '\0'));
  seal(path_, 7);
  EXPECT_NE(refusal(path_).find("the HDF5 image is missing or damaged"), std::string::npos);
}

}  // namespace
}  // namespace dikkat
