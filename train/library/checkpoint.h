#pragma once

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "autograd/tape/parameters.h"
#include "optim/optimizer.h"
#include "train/checkpoint/snapshot.h"

// Saving and loading of a model of one's own, in one call each. The file is a checkpoint as the trainer writes it: every byte is verified
// when it is saved and loaded. h5py, `dikkat inspect` and `dikkat verify` read it.
//
//   save("mine.h5", parameters, adamw, step, {{"loader", loader.state()}, {"mean", running_mean}});
//
//   index step = load("mine.h5", parameters, adamw, {{"loader", loader_state}, {"mean", running_mean}});
namespace dikkat {

/// The types of numbers that a program can save with its model.
template <class N>
concept SavedNumber = std::same_as<N, float> || std::same_as<N, double> || std::same_as<N, std::uint8_t> || std::same_as<N, std::int32_t> ||
                      std::same_as<N, std::int64_t> || std::same_as<N, std::uint64_t>;

/// Contiguous numbers, such as a vector, an array or a span.
template <class R>
concept SavedNumbers = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> && SavedNumber<std::ranges::range_value_t<R>>;

template <SavedNumber N>
inline constexpr ElementType kElementType = std::same_as<N, float>          ? ElementType::f32
                                            : std::same_as<N, double>       ? ElementType::f64
                                            : std::same_as<N, std::uint8_t> ? ElementType::u8
                                            : std::same_as<N, std::int32_t> ? ElementType::i32
                                            : std::same_as<N, std::int64_t> ? ElementType::i64
                                                                            : ElementType::u64;

/// Numbers to save under a name: a number, a range of numbers, or numbers of a shape. They are not copied.
class SavedArray {
 public:
  template <SavedNumber N>
  SavedArray(std::string_view name, const N& number) : SavedArray(name, kElementType<N>, {}, &number) {}
  template <SavedNumbers R>
  SavedArray(std::string_view name, const R& numbers)
      : SavedArray(name, kElementType<std::ranges::range_value_t<R>>, {std::ranges::ssize(numbers)}, std::ranges::data(numbers)) {}
  /// Takes shape.size() numbers, row-major.
  template <SavedNumber N>
  SavedArray(std::string_view name, const Shape& shape, const N* numbers) : SavedArray(name, kElementType<N>, shape, numbers) {}

  const TensorView& view() const { return view_; }

 private:
  SavedArray(std::string_view name, ElementType type, const Shape& shape, const void* data);

  TensorView view_;
};

/// The place of such numbers, to load into. The file must have the same name, type and shape: a vector is not resized.
class LoadedArray {
 public:
  template <SavedNumber N>
  LoadedArray(std::string_view name, N& number) : LoadedArray(name, kElementType<N>, {}, &number) {}
  template <SavedNumbers R>
  LoadedArray(std::string_view name, R& numbers)
      : LoadedArray(name, kElementType<std::ranges::range_value_t<R>>, {std::ranges::ssize(numbers)}, std::ranges::data(numbers)) {}
  template <SavedNumber N>
  LoadedArray(std::string_view name, const Shape& shape, N* numbers) : LoadedArray(name, kElementType<N>, shape, numbers) {}

  const TensorView& view() const { return view_; }

 private:
  LoadedArray(std::string_view name, ElementType type, const Shape& shape, void* data);

  TensorView view_;
};

/// Saves all parameters, the optimizer's state, the number of steps done and the program's own arrays to a file, bit by bit. Makes the
/// file's folder. Replaces an existing file atomically: `path` always has one whole checkpoint. Returns after the file has been read back,
/// compared, and synced to the disk. Throws Error if it cannot be written, before the parameters have memory, for a packed matrix, and for
/// two arrays of one name.
void save(const std::filesystem::path& path, const ParameterStore& parameters, Optimizer& optimizer, index step,
          std::span<const SavedArray> arrays = {});
void save(const std::filesystem::path& path, const ParameterStore& parameters, Optimizer& optimizer, index step,
          std::initializer_list<SavedArray> arrays);
/// Saves only the parameters.
void save(const std::filesystem::path& path, const ParameterStore& parameters);

/// A model and its optimizer, in a program that trains several, such as a GAN. A file has each parameter as NAME.PARAMETER, so names have
/// neither dots nor slashes.
struct NamedModel {
  std::string_view name;
  ParameterStore& parameters;
  Optimizer& optimizer;
};
/// Saves several models as one. Also throws Error for names that are not allowed, and for two of one name.
///
///   const NamedModel models[] = {{"generator", generator, its_adamw}, {"critic", critic, another_adamw}};
///   save("gan.h5", models, step, {{"loader", loader.state()}});
void save(const std::filesystem::path& path, std::span<const NamedModel> models, index step, std::span<const SavedArray> arrays = {});
void save(const std::filesystem::path& path, std::span<const NamedModel> models, index step, std::initializer_list<SavedArray> arrays);

/// Loads what save() has saved, from a file, or from the newest checkpoint of a run's folder (run_folder.h), and returns the step. The
/// parameters must have memory (ParameterStore::allocate()); their gradients are cleared. Throws InputError for a file that is missing or
/// damaged, or whose parameters, states or arrays differ in name, type or shape. The message names them, and nothing is loaded.
index load(const std::filesystem::path& path, ParameterStore& parameters, Optimizer& optimizer, std::span<const LoadedArray> arrays = {});
index load(const std::filesystem::path& path, ParameterStore& parameters, Optimizer& optimizer, std::initializer_list<LoadedArray> arrays);
index load(const std::filesystem::path& path, std::span<const NamedModel> models, std::span<const LoadedArray> arrays = {});
index load(const std::filesystem::path& path, std::span<const NamedModel> models, std::initializer_list<LoadedArray> arrays);
/// Loads only the parameters, also from a file that has more, or those of one of several models by its name. Returns the step.
index load(const std::filesystem::path& path, ParameterStore& parameters, std::string_view name = {});

/// Returns everything that save() stores, for other code that saves. The snapshot has views of the parameters, the state and the arrays.
Snapshot library_snapshot(const ParameterStore& parameters, Optimizer& optimizer, index step, std::span<const SavedArray> arrays);
Snapshot library_snapshot(std::span<const NamedModel> models, index step, std::span<const SavedArray> arrays);

}  // namespace dikkat
