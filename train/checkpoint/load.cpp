#include "train/checkpoint/load.h"

#include <algorithm>
#include <set>
#include <utility>

#include "autograd/base/error.h"
#include "train/checkpoint/gate.h"
#include "train/checkpoint/isolated_parse.h"

namespace dikkat {

namespace {

const StoredTensor* find(const CheckpointFile& checkpoint, TensorGroup group, const std::string& name) {
  const auto& tensors = checkpoint.tensors();
  const auto key = std::pair(group, std::string_view(name));
  const auto found = std::lower_bound(tensors.begin(), tensors.end(), key, [](const StoredTensor& tensor, const auto& wanted) {
    return std::pair(tensor.group, std::string_view(tensor.name)) < wanted;
  });
  return found != tensors.end() && found->group == group && found->name == name ? &*found : nullptr;
}

/// The stored tensor, if it is there with this shape.
const StoredTensor& require_tensor(const CheckpointFile& checkpoint, TensorGroup group, const std::string& name, const Shape& expected) {
  const StoredTensor* tensor = find(checkpoint, group, name);
  require_input(tensor != nullptr, checkpoint.path().string(), " lacks tensor /", path_of(group), '/', name, ", which the model has");
  require_input(tensor->shape == expected, checkpoint.path().string(), ": tensor /", path_of(group), '/', name, " has shape ",
                tensor->shape, ", the model expects ", expected);
  return *tensor;
}

}  // namespace

CheckpointFile CheckpointFile::open(const std::filesystem::path& path) {
  CheckpointFile checkpoint;
  checkpoint.path_ = path;
  try {
    std::error_code unknown;
    require_input(std::filesystem::status(path, unknown).type() != std::filesystem::file_type::not_found,
                  "cannot be read: no such file or directory; expected a run directory, as dikkat train makes one, or a checkpoint in it");
    checkpoint.file_ = File::open_regular(path);
    checkpoint.bytes_ = checkpoint.file_.size();
    const Header header = pass_gate(checkpoint.file_, checkpoint.bytes_);
    checkpoint.format_ = header.format;
    checkpoint.hash_ = to_hex(header.image);
    checkpoint.image_ = parse_in_child(checkpoint.file_, header.format);
    require_input(checkpoint.state().step == header.step, "contradicts itself: step ", header.step, " in its header, step ",
                  checkpoint.state().step, " in /state/step");
  } catch (const InputError& error) {
    fail_input(path.string(), ' ', error.what());
  } catch (const Error& error) {
    fail(path.string(), ": ", error.what());
  }
  return checkpoint;
}

void CheckpointFile::read(TensorGroup group, const std::string& name, const Shape& expected, float* out) const {
  const StoredTensor& tensor = require_tensor(*this, group, name, expected);
  const int error = file_.read(tensor.offset, std::as_writable_bytes(std::span(out, static_cast<std::size_t>(expected.size()))));
  require(error == 0, path_.string(), ": cannot read tensor /", path_of(group), '/', name, ": ", describe_errno(error));
}

void load_tensors(const CheckpointFile& checkpoint, TensorGroup group, std::span<const TensorTarget> targets) {
  std::set<std::string_view> names;
  for (const TensorTarget& target : targets) {
    require_tensor(checkpoint, group, target.name, target.shape);
    require(names.insert(target.name).second, "load_tensors: ", target.name, " is asked for twice");
  }
  for (const StoredTensor& tensor : checkpoint.tensors()) {
    require_input(tensor.group != group || names.contains(tensor.name), checkpoint.path().string(), " holds tensor /", path_of(group), '/',
                  tensor.name, ", which the model does not have");
  }
  for (const TensorTarget& target : targets) {
    checkpoint.read(group, target.name, target.shape, target.data);
  }
}

}  // namespace dikkat
