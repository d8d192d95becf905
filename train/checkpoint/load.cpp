#include "train/checkpoint/load.h"

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>

#include "autograd/base/error.h"
#include "train/checkpoint/checkpoint_index.h"
#include "train/checkpoint/verify_hash.h"

namespace dikkat {

namespace {

/// Finds a stored tensor. Throws InputError if it is missing, or has another type or shape.
const StoredTensor& require_tensor(const CheckpointFile& checkpoint, std::string_view path, ElementType type, const Shape& shape) {
  const auto& tensors = checkpoint.tensors();
  const auto tensor = std::lower_bound(tensors.begin(), tensors.end(), path,
                                       [](const StoredTensor& t, std::string_view wanted) { return t.path < wanted; });
  require_input(tensor != tensors.end() && tensor->path == path, checkpoint.path().string(), " lacks tensor /", path,
                ", which the model has");
  require_input(tensor->shape == shape, checkpoint.path().string(), ": tensor /", path, " has shape ", tensor->shape,
                ", the model expects ", shape);
  require_input(tensor->type == type, checkpoint.path().string(), ": tensor /", path, " has elements of type ", name_of(tensor->type),
                ", expected ", name_of(type));
  return *tensor;
}

}  // namespace

CheckpointFile CheckpointFile::open(const std::filesystem::path& path) {
  CheckpointFile checkpoint;
  checkpoint.path_ = path;
  try {
    checkpoint.file_ = File::open_regular(path);
    checkpoint.bytes_ = checkpoint.file_.size();
    const Header header = verify_hash(checkpoint.file_, checkpoint.bytes_);
    checkpoint.format_ = header.format;
    checkpoint.hash_ = to_hex(header.root);
    checkpoint.contents_ = read_contents(checkpoint.file_, header.index_begin, checkpoint.bytes_);
    require_input(checkpoint.state().step == header.step, "contradicts itself: step ", header.step, " in its header, step ",
                  checkpoint.state().step, " in its state");
  } catch (const PathError& error) {
    constexpr const char* kExpected = "; expected a run directory, which dikkat train creates, or a checkpoint in it";
    throw PathError(concat(path.string(), link_text(path), ' ', error.what(), error.error() == ENOENT ? kExpected : ""), error.error());
  } catch (const InputError& error) {
    fail_input(path.string(), ' ', error.what());
  } catch (const Error& error) {
    fail(path.string(), ": ", error.what());
  }
  return checkpoint;
}

void require_language_model(const CheckpointFile& checkpoint) {
  require_input(!checkpoint.config().empty() && !checkpoint.tokenizer().empty(), checkpoint.path().string(),
                " has no configuration and tokenizer, because a program has saved a model of its own in it; expected a language model. "
                "`dikkat inspect` prints what it holds, and the program that saved it can load it");
}

Contents read_index(const std::filesystem::path& path) {
  try {
    const File file = File::open_regular(path);
    const Header header = read_header(file, file.size());
    return read_contents(file, header.index_begin, file.size());
  } catch (const InputError& error) {
    fail_input(path.string(), ' ', error.what());
  } catch (const Error& error) {
    fail(path.string(), ": ", error.what());
  }
}

void CheckpointFile::read(std::string_view path, ElementType type, const Shape& shape, void* out) const {
  const StoredTensor& tensor = require_tensor(*this, path, type, shape);
  const int error = file_.read(tensor.offset, {static_cast<std::byte*>(out), static_cast<std::size_t>(tensor.bytes)});
  require(error == 0, path_.string(), ": cannot read tensor /", path, ": ", describe_errno(error));
}

void load_tensors(const CheckpointFile& checkpoint, std::string_view prefix, std::span<const TensorView> tensors,
                  const std::function<void(std::size_t)>& loaded) {
  std::set<std::string_view> paths;
  for (const TensorView& tensor : tensors) {
    require(paths.insert(tensor.path).second, "load_tensors: ", tensor.path, " occurs twice");
    require_tensor(checkpoint, tensor.path, tensor.type, tensor.shape);
  }
  for (const StoredTensor& stored : checkpoint.tensors()) {
    require_input(!stored.path.starts_with(concat(prefix, '/')) || paths.contains(stored.path), checkpoint.path().string(),
                  " holds tensor /", stored.path, ", which the ", prefix, " does not have");
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    checkpoint.read(tensors[i].path, tensors[i].type, tensors[i].shape, tensors[i].data);
    if (loaded) {
      loaded(i);
    }
  }
}

}  // namespace dikkat
