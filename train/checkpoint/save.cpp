#include "train/checkpoint/save.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include <unistd.h>

#include "autograd/base/error.h"
#include "train/checkpoint/checkpoint_list.h"
#include "train/checkpoint/header.h"
#include "train/checkpoint/image.h"
#include "train/io/free_space.h"

namespace dikkat {

namespace {

/// The name of a file that must not outlive the save unless it is kept.
class Provisional {
 public:
  explicit Provisional(std::filesystem::path path) : path_(std::move(path)) {}
  Provisional(const Provisional&) = delete;
  Provisional& operator=(const Provisional&) = delete;
  ~Provisional() {
    if (exists_) {
      ::unlink(path_.c_str());
    }
  }
  void created() { exists_ = true; }
  void keep() { exists_ = false; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  bool exists_ = false;
};

void read_back(const File& file, index offset, std::span<std::byte> out) { require_done(file.read(offset, out), Operation::read); }

Digest image_hash(const File& file, index bytes) {
  return root_hash(bytes - kHeaderBytes, [&](index offset, std::span<std::byte> out) { read_back(file, kHeaderBytes + offset, out); });
}

bool holds(const File& file, index offset, std::span<const std::byte> expected) {
  std::vector<std::byte> buffer(std::min(expected.size(), std::size_t{kHashChunkBytes}));
  for (std::size_t done = 0; done < expected.size();) {
    const std::span<std::byte> found(buffer.data(), std::min(buffer.size(), expected.size() - done));
    read_back(file, offset + static_cast<index>(done), found);
    if (std::memcmp(found.data(), expected.data() + done, found.size()) != 0) {
      return false;
    }
    done += found.size();
  }
  return true;
}

/// Loads the image as a reader would and throws Error unless it gives back the snapshot.
void require_image_of(const File& file, const Snapshot& snapshot) {
  const ImageIndex image = parse_image(file, kFormat);
  require(same_bits(image.state, snapshot.state) && image.config == snapshot.config && image.tokenizer == snapshot.tokenizer,
          "the file does not give back the state it was given");
  std::map<std::string_view, const StoredTensor*> stored;
  for (const StoredTensor& tensor : image.tensors) {
    stored[tensor.path] = &tensor;
  }
  for (const TensorView& tensor : snapshot.tensors) {
    const auto found = stored.find(tensor.path);
    require(found != stored.end() && found->second->shape == tensor.shape && found->second->type == tensor.type &&
                holds(file, found->second->offset,
                      {static_cast<const std::byte*>(tensor.data), static_cast<std::size_t>(found->second->bytes)}),
            "the file does not give back tensor /", tensor.path, " (or it was changed while it was being saved)");
  }
  require(snapshot.tensors.size() == image.tensors.size(), "the file holds tensors it was not given");
}

void write_header(File& file, const Header& header) {
  const std::string block = render_header(header);
  const auto bytes = std::as_bytes(std::span(block));
  require_done(file.write(0, bytes), Operation::write);
  require(holds(file, 0, bytes), "the header read back differs from the one written");
}

bool same_files(const std::filesystem::path& a, const std::filesystem::path& b) {
  const File first = File::open_regular(a);
  const File second = File::open_regular(b);
  const index bytes = first.size();
  return second.size() == bytes && image_hash(first, bytes) == image_hash(second, bytes) && [&] {
    std::vector<std::byte> header(std::size_t{kHeaderBytes});
    read_back(first, 0, header);
    return holds(second, 0, header);
  }();
}

index save(const std::filesystem::path& target, const Snapshot& snapshot, Faults* faults) {
  const index step = snapshot.state.step;
  Provisional temporary(target.parent_path() / concat(".tmp-", step, "-", ::getpid()));
  const index expected = expected_bytes(snapshot);
  const std::string lack = lack_of_space(target.parent_path(), expected);
  require(lack.empty(), lack);
  File file;
  require_done(file.create(temporary.path(), faults), Operation::open);
  temporary.created();
  require_done(file.allocate(expected), Operation::allocate);
  write_image(file, snapshot);
  const index bytes = file.size();
  const Digest image = image_hash(file, bytes);
  require_image_of(file, snapshot);
  write_header(file, {.length = bytes, .step = step, .image = image});
  require_done(file.sync(), Operation::sync);
  require_done(file.close(), Operation::close);

  if (std::filesystem::symlink_status(target).type() != std::filesystem::file_type::not_found) {
    require(same_files(temporary.path(), target), "there is another file of this name, with other contents; it was left alone");
    return bytes;
  }
  Provisional renamed(target);
  require_done(rename_file(temporary.path(), target, faults), Operation::rename);
  temporary.keep();
  renamed.created();
  require_done(sync_directory(target.parent_path(), faults), Operation::sync_directory);
  renamed.keep();
  return bytes;
}

}  // namespace

SavedCheckpoint save_checkpoint(const std::filesystem::path& directory, const Snapshot& snapshot, Faults* faults) {
  const index step = snapshot.state.step;
  require(step >= 0, "save_checkpoint: step ", step, ", expected 0 or more");
  std::filesystem::path target = directory / checkpoint_name(step);
  try {
    const index bytes = save(target, snapshot, faults);
    return {std::move(target), step, bytes};
  } catch (const std::exception& error) {
    fail("cannot save ", target.string(), ": ", error.what());
  }
}

}  // namespace dikkat
