#include "train/library/checkpoint.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <vector>

#include "train/checkpoint/checkpoint_list.h"
#include "train/checkpoint/save.h"
#include "train/run/build_info.h"
#include "train/run/training_snapshot.h"
#include "train/system/folder.h"

namespace dikkat {
namespace {

ElementType element_type_of(const ParameterStore& parameters) {
  return for_float(parameters.dtype(), "parameters", [](auto zero) { return kElementType<decltype(zero)>; });
}

/// Some parameters, with their optimizer or without one, and the prefix of their names in a file.
struct Part {
  const ParameterStore& parameters;
  Optimizer* optimizer = nullptr;
  std::string prefix{};
};

std::vector<Part> parts_of(std::span<const NamedModel> models) {
  std::vector<Part> parts;
  for (const auto& [name, parameters, optimizer] : models) {
    require(!name.empty() && name.find_first_of("./") == std::string_view::npos, "models: the name '", name,
            "', expected one without dots and slashes");
    parts.push_back({parameters, &optimizer, concat(name, '.')});
  }
  return parts;
}

/// Returns views of all parameters, frozen ones too, and of the optimizers' state.
std::vector<TensorView> views_of(std::span<const Part> parts) {
  std::vector<TensorView> views;
  for (const auto& [parameters, optimizer, prefix] : parts) {
    for (const ParameterStore::Entry* entry : parameters.entries()) {
      require(entry->values != nullptr, "parameters: '", entry->path, "' has no memory, expected allocate() before save() and load()");
      require(entry->record.packing == PackedType::f32, "parameters: '", entry->path, "' is packed as ", name_of(entry->record.packing),
              ", which cannot be saved or loaded; expected ", parameters.dtype());
      views.push_back({.path = concat(entry->with_adapters ? "adapter/" : "model/", prefix, entry->path),
                       .type = element_type_of(parameters),
                       .shape = entry->shape(),
                       .data = entry->values});
    }
    if (optimizer != nullptr) {
      optimizer->reserve();  // before the first step it has no memory
      std::ranges::move(state_of(*optimizer, prefix), std::back_inserter(views));
    }
  }
  return views;
}

TensorView array_view(std::string_view name, ElementType type, const Shape& shape, void* data) {
  // An older dikkat may ignore the program's arrays: they are not part of a model.
  return {.path = concat("arrays/", name), .type = type, .shape = shape, .data = data, .required = false};
}

std::string_view group_of(std::string_view path) { return path.substr(0, path.find('/')); }
std::string_view name_in_group(std::string_view path) { return path.substr(path.find('/') + 1); }

/// Describes a tensor as "arrays/mean f32 [64]".
template <class Tensor>
std::string text_of(const Tensor& tensor) {
  return concat(tensor.path, ' ', name_of(tensor.type), ' ', tensor.shape);
}

/// Selects a file's tensors in some groups whose names begin with a prefix.
struct Selection {
  std::span<const std::string_view> groups;
  std::string prefix{};
};

/// Lists how these tensors of the file differ from the wanted ones.
std::vector<std::string> differences(const CheckpointFile& file, std::span<const TensorView> wanted, const Selection& selection) {
  std::map<std::string_view, const StoredTensor*> stored;
  for (const StoredTensor& tensor : file.tensors()) {
    if (std::ranges::find(selection.groups, group_of(tensor.path)) != selection.groups.end() &&
        name_in_group(tensor.path).starts_with(selection.prefix)) {
      stored.emplace(tensor.path, &tensor);
    }
  }
  std::vector<std::string> list;
  for (const TensorView& tensor : wanted) {
    const auto found = stored.find(tensor.path);
    if (found == stored.end()) {
      list.push_back(concat("it lacks ", text_of(tensor)));
      continue;
    }
    if (found->second->type != tensor.type || found->second->shape != tensor.shape) {
      list.push_back(concat("it has ", text_of(*found->second), ", expected ", name_of(tensor.type), ' ', tensor.shape));
    }
    stored.erase(found);
  }
  for (const auto& [path, tensor] : stored) {
    list.push_back(concat("it has ", text_of(*tensor), ", which the program does not"));
  }
  return list;
}

/// Loads all tensors that the program expects of a selection, or nothing.
void load_selection(const CheckpointFile& file, std::span<const TensorView> wanted, const Selection& selection) {
  constexpr std::size_t kMost = 8;  // the most differences that a message names
  const std::vector<std::string> list = differences(file, wanted, selection);
  std::string text;
  for (std::size_t i = 0; i < std::min(kMost, list.size()); ++i) {
    text += concat(i == 0 ? "" : "; ", list[i]);
  }
  require_input(list.empty(), file.path().string(), " does not fit this program: ", text,
                list.size() > kMost ? concat("; and ", list.size() - kMost, " more") : "", ". Nothing was loaded");
  for (const TensorView& tensor : wanted) {
    file.read(tensor.path, tensor.type, tensor.shape, tensor.data);
  }
}

void save_snapshot(const std::filesystem::path& path, const Snapshot& snapshot) {
  if (path.has_parent_path()) {
    make_folders(path.parent_path());
  }
  replace_checkpoint(path, snapshot);
}

Snapshot snapshot_of(std::span<const Part> parts, index step, std::span<const SavedArray> arrays) {
  const BuildInfo& build = build_info();
  Snapshot snapshot;
  snapshot.state.step = step;
  snapshot.state.program_version = build.version;
  snapshot.state.compiler = build.compiler;
  snapshot.state.compiler_flags = build.flags;
  snapshot.state.instruction_set = build.instruction_set;
  snapshot.tensors = views_of(parts);
  for (const SavedArray& array : arrays) {
    snapshot.tensors.push_back(array.view());
  }
  return snapshot;
}

/// Loads everything that a file has, and returns the step.
index load_all(const std::filesystem::path& path, std::span<const Part> parts, std::span<const LoadedArray> arrays) {
  constexpr std::string_view kGroups[] = {"model", "adapter", "optimizer", "arrays"};
  const CheckpointFile file = open_checkpoint(path);
  require_input(std::ranges::any_of(file.tensors(), [](const StoredTensor& tensor) { return group_of(tensor.path) == "optimizer"; }),
                file.path().string(), " was saved without an optimizer, expected its state; load(path, parameters) loads the parameters");
  std::vector<TensorView> wanted = views_of(parts);
  for (const LoadedArray& array : arrays) {
    wanted.push_back(array.view());
  }
  load_selection(file, wanted, {.groups = kGroups});
  return file.state().step;
}

}  // namespace

SavedArray::SavedArray(std::string_view name, ElementType type, const Shape& shape, const void* data)
    : view_(array_view(name, type, shape, const_cast<void*>(data))) {}  // NOLINT(*-const-cast): saved numbers are not written to

LoadedArray::LoadedArray(std::string_view name, ElementType type, const Shape& shape, void* data)
    : view_(array_view(name, type, shape, data)) {}

Snapshot library_snapshot(const ParameterStore& parameters, Optimizer& optimizer, index step, std::span<const SavedArray> arrays) {
  const Part part{parameters, &optimizer};
  return snapshot_of(std::span(&part, 1), step, arrays);
}

Snapshot library_snapshot(std::span<const NamedModel> models, index step, std::span<const SavedArray> arrays) {
  return snapshot_of(parts_of(models), step, arrays);
}

void save(const std::filesystem::path& path, const ParameterStore& parameters, Optimizer& optimizer, index step,
          std::span<const SavedArray> arrays) {
  save_snapshot(path, library_snapshot(parameters, optimizer, step, arrays));
}

void save(const std::filesystem::path& path, const ParameterStore& parameters, Optimizer& optimizer, index step,
          std::initializer_list<SavedArray> arrays) {
  save(path, parameters, optimizer, step, std::span(arrays.begin(), arrays.size()));
}

void save(const std::filesystem::path& path, const ParameterStore& parameters) {
  const Part part{parameters};
  save_snapshot(path, snapshot_of(std::span(&part, 1), 0, {}));
}

void save(const std::filesystem::path& path, std::span<const NamedModel> models, index step, std::span<const SavedArray> arrays) {
  save_snapshot(path, library_snapshot(models, step, arrays));
}

void save(const std::filesystem::path& path, std::span<const NamedModel> models, index step, std::initializer_list<SavedArray> arrays) {
  save(path, models, step, std::span(arrays.begin(), arrays.size()));
}

index load(const std::filesystem::path& path, ParameterStore& parameters, Optimizer& optimizer, std::span<const LoadedArray> arrays) {
  const Part part{parameters, &optimizer};
  const index step = load_all(path, std::span(&part, 1), arrays);
  parameters.clear_gradients();
  return step;
}

index load(const std::filesystem::path& path, ParameterStore& parameters, Optimizer& optimizer, std::initializer_list<LoadedArray> arrays) {
  return load(path, parameters, optimizer, std::span(arrays.begin(), arrays.size()));
}

index load(const std::filesystem::path& path, std::span<const NamedModel> models, std::span<const LoadedArray> arrays) {
  const index step = load_all(path, parts_of(models), arrays);
  for (const NamedModel& model : models) {
    model.parameters.clear_gradients();
  }
  return step;
}

index load(const std::filesystem::path& path, std::span<const NamedModel> models, std::initializer_list<LoadedArray> arrays) {
  return load(path, models, std::span(arrays.begin(), arrays.size()));
}

index load(const std::filesystem::path& path, ParameterStore& parameters, std::string_view name) {
  constexpr std::string_view kGroups[] = {"model", "adapter"};
  const CheckpointFile file = open_checkpoint(path);
  const Part part{parameters, nullptr, name.empty() ? "" : concat(name, '.')};
  load_selection(file, views_of(std::span(&part, 1)), {kGroups, part.prefix});
  parameters.clear_gradients();
  return file.state().step;
}

}  // namespace dikkat
