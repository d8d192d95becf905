#include "train/checkpoint/save.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "autograd/base/error.h"
#include "train/checkpoint/checkpoint_index.h"
#include "train/checkpoint/checkpoint_list.h"
#include "train/checkpoint/dataset.h"
#include "train/checkpoint/hdf5_image.h"
#include "train/checkpoint/header.h"
#include "train/system/free_space.h"
#include "train/system/temporary_file.h"

namespace dikkat {

namespace {

void read_back(const File& file, index offset, std::span<std::byte> out) { require_done(file.read(offset, out), Operation::read); }

Digest root_hash_of(const File& file, index bytes) {
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

/// Reads the file back and throws Error unless it equals the snapshot. Checks the image through the HDF5 library, the data byte by byte,
/// and the index.
void require_gives_back(const File& file, index index_begin, index bytes, const Snapshot& snapshot,
                        std::span<const StoredDataset> datasets) {
  require_image_shows(file, datasets);
  for (const StoredDataset& dataset : datasets) {
    require(holds(file, dataset.offset, {static_cast<const std::byte*>(dataset.data), static_cast<std::size_t>(dataset.bytes)}),
            "the file read back differs in /", dataset.path, " (or this data was changed while it was being saved)");
  }
  const Contents contents = read_contents(file, index_begin, bytes);
  require(same_bits(contents.state, snapshot.state) && contents.config == snapshot.config && contents.tokenizer == snapshot.tokenizer,
          "the index read back has another state");
  require(contents.tensors.size() == snapshot.tensors.size(), "the index has ", contents.tensors.size(), " tensors, expected ",
          snapshot.tensors.size());
  auto dataset = datasets.begin();
  for (const StoredTensor& tensor : contents.tensors) {
    dataset = std::find_if(dataset, datasets.end(), [&](const StoredDataset& d) { return d.path == tensor.path; });
    require(dataset != datasets.end() && *dataset == tensor, "the index read back differs in tensor /", tensor.path);
  }
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
  return second.size() == bytes && root_hash_of(first, bytes) == root_hash_of(second, bytes) && [&] {
    std::vector<std::byte> header(std::size_t{kHeaderBytes});
    read_back(first, 0, header);
    return holds(second, 0, header);
  }();
}

index bytes_of_all(std::span<const StoredDataset> datasets) {
  index bytes = image_bytes(datasets) + kIndexStateBytes;
  for (const StoredDataset& dataset : datasets) {
    bytes += kIndexEntryBytes + static_cast<index>(dataset.path.size());
    bytes += dataset.path.starts_with(kStatePrefix) ? dataset.bytes : 0;
  }
  return bytes;
}

/// Writes a complete checkpoint to a temporary file in `folder`, and returns its size.
index write_checkpoint(const std::filesystem::path& folder, const std::string& stem, Provisional& temporary, const Snapshot& snapshot,
                       Faults* faults) {
  // Reserve the space.
  std::vector<StoredDataset> datasets = datasets_of(snapshot);
  const index expected = bytes_of_all(datasets);
  File file = create_temporary(folder, stem, temporary, faults);
  remove_leftovers(folder, stem, temporary.path());
  const std::string lack = lack_of_space(folder, expected);
  require(lack.empty(), lack, "; free some space, or keep fewer checkpoints of runs (train.keep_last)");
  require_done(file.allocate(expected), Operation::allocate);
  // Write image and index, read them back, and only then write the header, without which the file is not a checkpoint.
  write_image(file, datasets);
  const index index_begin = file.size();
  const std::string index_text = encode_index(snapshot.state, datasets);
  require_done(file.write(index_begin, std::as_bytes(std::span(index_text))), Operation::write);
  const index bytes = file.size();
  const Digest root = root_hash_of(file, bytes);
  require_gives_back(file, index_begin, bytes, snapshot, datasets);
  write_header(file, {.length = bytes, .step = snapshot.state.step, .index_begin = index_begin, .root = root});
  require_done(file.sync(), Operation::sync);
  require_done(file.close(), Operation::close);
  return bytes;
}

/// Renames the file to `target`. If a file has that name already, keeps it and requires it to be equal.
void name_new(Provisional& temporary, const std::filesystem::path& target, Faults* faults) {
  if (is_taken(target)) {
    require(same_files(temporary.path(), target), "a file with this name and other contents already exists; it was not changed");
    return;
  }
  Provisional renamed(target);
  require_done(rename_file(temporary.path(), target, faults), Operation::rename);
  temporary.keep();
  renamed.created();
  require_done(sync_directory(target.parent_path(), faults), Operation::sync_directory);
  renamed.keep();
}

index save(const std::filesystem::path& target, const Snapshot& snapshot, Faults* faults) {
  Provisional temporary;
  const index bytes = write_checkpoint(target.parent_path(), concat(snapshot.state.step), temporary, snapshot, faults);
  name_new(temporary, target, faults);
  return bytes;
}

/// Saves as save() does, but replaces a file that has the name.
index replace(const std::filesystem::path& target, const Snapshot& snapshot, Faults* faults) {
  const std::filesystem::path folder = target.has_parent_path() ? target.parent_path() : ".";
  Provisional temporary;
  const index bytes = write_checkpoint(folder, target.filename().string(), temporary, snapshot, faults);
  require_done(rename_file(temporary.path(), target, faults), Operation::rename);
  temporary.keep();
  require_done(sync_directory(folder, faults), Operation::sync_directory);
  return bytes;
}

}  // namespace

index expected_bytes(const Snapshot& snapshot) { return bytes_of_all(datasets_of(snapshot)); }

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

SavedCheckpoint replace_checkpoint(const std::filesystem::path& file, const Snapshot& snapshot, Faults* faults) {
  const index step = snapshot.state.step;
  require(step >= 0, "replace_checkpoint: step ", step, ", expected 0 or more");
  try {
    const index bytes = replace(file, snapshot, faults);
    return {file, step, bytes};
  } catch (const std::exception& error) {
    fail("cannot save ", file.string(), ": ", error.what());
  }
}

}  // namespace dikkat
