#include "train/exchange/tensor_map.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "autograd/base/error.h"
#include "autograd/base/parallel.h"
#include "train/exchange/formats/convert.h"
#include "train/exchange/formats/ggml_types.h"

namespace dikkat {
namespace {

std::string with_layer(std::string_view pattern, index layer) {
  std::string name(pattern);
  if (const std::size_t at = name.find('#'); at != std::string::npos) {
    name.replace(at, 1, std::to_string(layer));
  }
  return name;
}

bool is_per_layer(std::string_view name) { return name.find('#') != std::string_view::npos; }

const ParameterStore::Entry* find(const ParameterStore& store, const std::string& path) {
  const auto& entries = store.entries();
  const auto found = std::find_if(entries.begin(), entries.end(), [&](const auto* entry) { return entry->path == path; });
  return found == entries.end() ? nullptr : *found;
}

/// Returns the number of rows of each part of a tensor. A bias has the parts of its weight.
std::vector<index> rows_of_parts(const ParameterStore::Entry& entry, const ParameterStore& store, std::size_t parts) {
  const index rows = entry.shape()[0];
  if (parts == 1) {
    return {rows};
  }
  const ParameterStore::Entry* stack = &entry;
  if (constexpr std::string_view kBias = ".bias"; entry.path.ends_with(kBias)) {
    stack = find(store, entry.path.substr(0, entry.path.size() - kBias.size()) + ".weight");
  }
  require(stack != nullptr && stack->row_parts.size() == parts, "exchange: ", entry.path, " is not ", parts, " stacked tensors");
  return stack->row_parts;
}

std::size_t count_of(const TensorRule& rule) {
  return static_cast<std::size_t>(
      std::count_if(rule.parts.begin(), rule.parts.end(), [](const TensorPart& part) { return !part.name.empty(); }));
}

/// Returns whether part `i` is in the same tensor as the part before it.
bool continues_tensor(const TensorRule& rule, std::size_t i) { return i > 0 && rule.parts[i].name == rule.parts[i - 1].name; }

/// Returns whether a layout only changes the order of rows, so that an adapter's B has it too.
bool orders_rows(Layout layout) { return layout == Layout::rotary_pairs || layout == Layout::rotary_first; }

/// Returns the shape of a vector or matrix in a file.
std::vector<index> shape_of(const TensorPiece& piece, bool is_vector) {
  if (is_vector) {
    return {piece.rows};
  }
  return piece.layout == Layout::transposed ? std::vector<index>{piece.cols, piece.rows} : std::vector<index>{piece.rows, piece.cols};
}

/// Returns the width of a bias that our model does not have, from the weight next to it; 0 if there is no such weight.
index width_of_missing_bias(const std::string& path, const ParameterStore& store) {
  constexpr std::string_view kBias = ".bias";
  const ParameterStore::Entry* weight =
      path.ends_with(kBias) ? find(store, path.substr(0, path.size() - kBias.size()) + ".weight") : nullptr;
  return weight == nullptr ? 0 : weight->shape()[0];
}

}  // namespace

std::vector<MappedTensor> map_tensors(std::span<const TensorRule> rules, const TransformerConfig& config, const ParameterStore& store,
                                      bool with_zeros) {
  // Each rule names a tensor of each layer, or one tensor that holds all layers.
  std::vector<MappedTensor> map;
  std::set<std::string_view> named;
  std::vector<TensorRule> all(rules.begin(), rules.end());
  all.push_back({.ours = kScoreWeight, .parts = {{{kScoreWeight}}}});
  for (const TensorRule& rule : all) {
    const std::size_t parts = count_of(rule);
    const bool all_layers = is_per_layer(rule.ours) && !is_per_layer(rule.parts[0].name);
    const index layers = is_per_layer(rule.ours) ? config.n_layer : 1;
    for (index layer = 0; layer < layers; ++layer) {
      const std::string path = with_layer(rule.ours, layer);
      const ParameterStore::Entry* entry = find(store, path);
      const index zeros = entry == nullptr && with_zeros ? width_of_missing_bias(path, store) : 0;
      if (entry == nullptr && zeros == 0) {
        continue;
      }
      // A bias that our model lacks is a vector of zeros.
      const bool is_vector = entry == nullptr || entry->shape().rank() == 1;
      const std::vector<index> rows = entry == nullptr ? std::vector<index>{zeros} : rows_of_parts(*entry, store, parts);
      const index cols = is_vector ? 1 : entry->shape()[1];
      if (entry != nullptr) {
        named.insert(entry->path);
      }
      // Make one piece for each part. Parts with one name, and layers in one tensor, are pieces of the same tensor.
      index first = 0;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const TensorPiece piece{.ours = entry,
                                .first_row = first,
                                .rows = rows[i],
                                .cols = cols,
                                .layout = rule.parts[i].layout,
                                .head_size = config.head_size,
                                .rotated = rotated_size(config)};
        first += rows[i];
        if (all_layers && layer > 0) {
          map.back().pieces.push_back(piece);
          continue;
        }
        if (continues_tensor(rule, i)) {
          map.back().pieces.push_back(piece);
          map.back().shape[0] += rows[i];
          continue;
        }
        MappedTensor tensor{with_layer(rule.parts[i].name, layer), shape_of(piece, is_vector), {piece}};
        if (all_layers) {
          tensor.shape.insert(tensor.shape.begin(), layers);
        }
        map.push_back(std::move(tensor));
      }
    }
  }
  // Every parameter needs a name, except for adapters.
  for (const ParameterStore::Entry* entry : store.entries()) {
    require(named.contains(entry->path) || entry->role == Role::adapter, "exchange: the layout has no name for ", entry->path);
  }
  return map;
}

std::vector<MappedTensor> map_adapters(std::span<const TensorRule> rules, const TransformerConfig& config, const ParameterStore& store,
                                       const AdapterNames& names) {
  constexpr std::string_view kWeight = ".weight";
  std::vector<MappedTensor> map;
  for (const TensorRule& rule : rules) {
    for (index layer = 0; layer < (is_per_layer(rule.ours) ? config.n_layer : 1); ++layer) {
      // Find the factors of the matrix; without them it has no adapter.
      const std::string path = with_layer(rule.ours, layer);
      const std::string ours = path.ends_with(kWeight) ? path.substr(0, path.size() - kWeight.size()) : path;
      const ParameterStore::Entry* a = find(store, ours + ".lora_a");
      const ParameterStore::Entry* b = find(store, ours + ".lora_b");
      if (a == nullptr || b == nullptr || !path.ends_with(kWeight)) {
        continue;
      }
      // Write a copy of A for each tensor of the file, and its own rows of B.
      const std::size_t parts = count_of(rule);
      const std::vector<index> rows = rows_of_parts(store.entry(path), store, parts);
      const index rank = a->shape()[0], in = a->shape()[1];
      index first = 0;
      for (std::size_t i = 0; i < parts; ++i) {
        std::string name = with_layer(rule.parts[i].name, layer);
        name.resize(name.ends_with(names.cut) ? name.size() - names.cut.size() : name.size());
        const TensorPiece piece{.ours = b,  // its rows are the matrix's rows
                                .first_row = first,
                                .rows = rows[i],
                                .cols = rank,
                                .layout = orders_rows(rule.parts[i].layout) ? rule.parts[i].layout : Layout::same,
                                .head_size = config.head_size,
                                .rotated = rotated_size(config)};
        first += rows[i];
        if (continues_tensor(rule, i)) {
          map.back().pieces.push_back(piece);
          map.back().shape[0] += rows[i];
          continue;
        }
        map.push_back({concat(names.before, name, names.a), {rank, in}, {{.ours = a, .rows = rank, .cols = in}}});
        map.push_back({concat(names.before, name, names.b), {rows[i], rank}, {piece}});
      }
    }
  }
  return map;
}

void pad_rows(std::vector<MappedTensor>& map, std::string_view name, index rows) {
  const auto found = std::find_if(map.begin(), map.end(), [&](const MappedTensor& tensor) { return tensor.name == name; });
  require(found != map.end() && found->shape.size() == 2 && found->shape[0] <= rows, "exchange: ", name,
          " is not a matrix with fewer rows");
  if (found->shape[0] < rows) {
    found->pieces.push_back({.rows = rows - found->shape[0], .cols = found->shape[1]});
    found->shape[0] = rows;
  }
}

namespace {

constexpr index kBlock = 1 << 16;  // elements that are converted at once

/// Returns the row of our piece that the file's row `row` belongs to, counted within the piece.
index our_row(const TensorPiece& piece, index row) {
  if (!orders_rows(piece.layout)) {
    return row;
  }
  const index half = piece.head_size / 2;
  const index in_head = row % piece.head_size;
  const index head = row - in_head;
  if (piece.layout == Layout::rotary_pairs) {
    return head + in_head % 2 * half + in_head / 2;
  }
  // In our layout, pairs are rows d and D / 2 + d, and the first ones rotate. So each half begins with its rotated rows.
  const index pairs = piece.rotated / 2;
  const bool rotates = in_head < piece.rotated;
  const index at = rotates ? in_head : in_head - piece.rotated;  // place among the rotated rows, or the others
  const index size = rotates ? pairs : half - pairs;             // number of these rows in each half
  return head + at / size * half + (rotates ? 0 : pairs) + at % size;
}

}  // namespace

MappedRows rows_of(const MappedTensor& tensor) {
  MappedRows rows{.first = tensor.pieces.front().first_row};
  for (const TensorPiece& piece : tensor.pieces) {
    for (index row = 0; row < piece.rows; ++row) {
      rows.order.push_back(piece.first_row - rows.first + our_row(piece, row));
    }
    rows.count += piece.rows;
  }
  if (std::is_sorted(rows.order.begin(), rows.order.end())) {
    rows.order.clear();
  }
  return rows;
}

namespace {

/// Reads a piece whose elements begin at `first` in the file's tensor.
void read_piece(const WeightTensor& tensor, index first, const TensorPiece& piece) {
  // Read elements in our own layout straight into place.
  float* ours = static_cast<float*>(piece.ours->values) + piece.first_row * piece.cols;
  if (piece.layout == Layout::same || piece.layout == Layout::less_one) {
    read_f32(tensor, first, piece.elements(), ours);
    for (index i = 0; piece.layout == Layout::less_one && i < piece.elements(); ++i) {
      ours[i] += 1;
    }
    return;
  }

  // Read other layouts in blocks of rows, and move these into place.
  const index their_cols = piece.layout == Layout::transposed ? piece.rows : piece.cols;
  const index their_rows = piece.elements() / their_cols;
  const index rows_at_once = std::max<index>(1, kBlock / their_cols);
  std::vector<float> block(static_cast<std::size_t>(rows_at_once * their_cols));
  for (index row = 0; row < their_rows; row += rows_at_once) {
    const index count = std::min(rows_at_once, their_rows - row);
    read_f32(tensor, first + row * their_cols, count * their_cols, block.data());
    if (piece.layout == Layout::transposed) {
      parallel_ranges(
          their_cols, Work::elements(count * their_cols), [] {},
          [&](index begin, index end) {
            for (index c = begin; c < end; ++c) {
              for (index r = 0; r < count; ++r) {
                ours[c * piece.cols + row + r] = block[static_cast<std::size_t>(r * their_cols + c)];
              }
            }
          });
    } else {
      for (index r = 0; r < count; ++r) {
        std::copy_n(block.data() + r * their_cols, their_cols, ours + our_row(piece, row + r) * piece.cols);
      }
    }
  }
}

/// Reads the pieces of a tensor of the file, except padding. Calls `done` after each of them.
template <class Done>
void read_pieces(const WeightTensor& source, const MappedTensor& tensor, const Done& done) {
  index first = 0;
  for (const TensorPiece& piece : tensor.pieces) {
    if (piece.ours != nullptr) {
      read_piece(source, first, piece);
      done(piece);
    }
    first += piece.elements();
  }
}

/// Writes elements first to first + count - 1 of a piece to `out`, in the order of the file.
void write_piece(const TensorPiece& piece, index first, index count, const float* weights, float* out) {
  if (piece.ours == nullptr) {
    std::fill_n(out, count, 0.0F);
    return;
  }
  const float* ours = weights + piece.ours->offset + piece.first_row * piece.cols;
  if (piece.layout == Layout::same || piece.layout == Layout::less_one) {
    const float offset = piece.layout == Layout::less_one ? 1.0F : 0.0F;
    std::transform(ours + first, ours + first + count, out, [=](float value) { return value - offset; });
    return;
  }
  const index their_cols = piece.layout == Layout::transposed ? piece.rows : piece.cols;
  parallel_ranges(
      count, Work::elements(count), [] {},
      [&](index begin, index end) {
        for (index i = begin; i < end; ++i) {
          const index row = (first + i) / their_cols;
          const index col = (first + i) % their_cols;
          out[i] = piece.layout == Layout::transposed ? ours[col * piece.cols + row] : ours[our_row(piece, row) * piece.cols + col];
        }
      });
}

/// Joins names: "a, b, c and 12 more".
std::string list_of(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 8;
  std::string list;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    list += concat(i == 0 ? "" : ", ", names[i]);
  }
  return names.size() > kShown ? concat(list, " and ", names.size() - kShown, " more") : list;
}

}  // namespace

void read_tensor(const WeightTensor& source, const MappedTensor& tensor) {
  read_pieces(source, tensor, [](const TensorPiece&) {});
}

void TensorProblems::compare(const WeightTensor& tensor, const std::vector<index>& shape) {
  if (tensor.type == WeightType::other) {
    unknown.push_back(concat(tensor.name, " (", tensor.type_name, ')'));
    are_of_ggml = std::ranges::find(kGgmlTypes, tensor.type_name, &GgmlType::name) != kGgmlTypes.end();
  } else if (tensor.shape != shape) {
    misshapen.push_back(concat(tensor.name, " is ", shape_text(tensor.shape), ", expected ", shape_text(shape)));
  }
}

std::string TensorProblems::text(const char* others) const {
  std::string all;
  const auto add = [&](const char* what, const std::vector<std::string>& list) {
    if (!list.empty()) {
      all += concat(all.empty() ? "" : "; ", what, list_of(list));
    }
  };
  add("it lacks ", missing);
  add("", misshapen);
  add("tensors of types that cannot be converted: ", unknown);
  all += unknown.empty() ? ""
         : are_of_ggml   ? " (download a file of another type, such as Q4_K_M or Q8_0, or convert this one with llama.cpp: llama-quantize "
                           "--allow-requantize IN.gguf OUT.gguf Q8_0)"
                         : " (if transformers reads them, convert them to bf16 in Python: AutoModelForCausalLM.from_pretrained(\"FOLDER\", "
                           "torch_dtype=\"bfloat16\").save_pretrained(\"OUT\", safe_serialization=True))";
  add(others, other);
  return all;
}

bool same_numbers(const WeightTensor& a, const WeightTensor& b) {
  if (a.shape != b.shape || a.type == WeightType::other || b.type == WeightType::other) {
    return false;
  }
  if (a.type == b.type) {
    return a.bytes == b.bytes && std::memcmp(a.data, b.data, static_cast<std::size_t>(a.bytes)) == 0;
  }
  const index block = kBlock;  // a multiple of every type's block
  std::vector<float> of_a(static_cast<std::size_t>(block)), of_b(static_cast<std::size_t>(block));
  for (index first = 0; first < a.elements; first += block) {
    const index count = std::min(block, a.elements - first);
    read_f32(a, first, count, of_a.data());
    read_f32(b, first, count, of_b.data());
    if (!std::equal(of_a.begin(), of_a.begin() + count, of_b.begin())) {
      return false;
    }
  }
  return true;
}

void read_tensors(const WeightFile& file, const std::vector<MappedTensor>& map, const FileNames& names, ParameterStore& store,
                  const ParameterStore::Loaded& loaded) {
  // Either all names in a file have the prefix, or none has it.
  const auto has_prefix = [&](const WeightTensor& tensor) { return tensor.name.starts_with(names.prefix); };
  const bool lacks_prefix = !names.prefix.empty() && std::none_of(file.tensors().begin(), file.tensors().end(), has_prefix);
  const auto in_file = [&](const std::string& name) {
    return lacks_prefix && name.starts_with(names.prefix) ? name.substr(names.prefix.size()) : name;
  };

  // Compare the map and the file before anything is written.
  TensorProblems problems;
  std::set<std::string_view> wanted;
  std::vector<const WeightTensor*> sources;
  for (const MappedTensor& tensor : map) {
    const WeightTensor* source = file.find(in_file(tensor.name));
    sources.push_back(source);
    if (source == nullptr) {
      problems.missing.push_back(in_file(tensor.name));
      continue;
    }
    wanted.insert(source->name);
    problems.compare(*source, tensor.shape);
  }
  for (const WeightTensor& tensor : file.tensors()) {
    const bool is_buffer = std::any_of(names.buffers.begin(), names.buffers.end(), [&](auto end) { return tensor.name.ends_with(end); });
    if (!wanted.contains(tensor.name) && !is_buffer && (names.repeated.empty() || tensor.name != names.repeated)) {
      problems.other.push_back(tensor.name);
    }
  }
  const std::string text = problems.text("tensors that the model does not have: ");
  require_input(text.empty(), file.name(), " does not hold the model that its configuration describes: ", text);

  // Read the elements. A parameter is complete when all tensors that hold a part of it have been read.
  std::map<const ParameterStore::Entry*, index> left;  // unread elements of each parameter
  for (std::size_t i = 0; i < map.size(); ++i) {
    read_pieces(*sources[i], map[i], [&](const TensorPiece& piece) {
      index& rest = left.try_emplace(piece.ours, piece.ours->size()).first->second;
      rest -= piece.elements();
      if (rest == 0 && loaded) {
        loaded(store.entry(piece.ours->path));
      }
    });
    file.forget();
  }
}

std::vector<NewTensor> new_tensors(const std::vector<MappedTensor>& map, const ParameterStore& store,
                                   const std::function<WeightType(const MappedTensor&)>& type_of) {
  const float* weights = store.weights<float>();
  std::vector<NewTensor> tensors;
  for (const MappedTensor& tensor : map) {
    const auto values = [weights, pieces = tensor.pieces](index first, index count, float* out) {
      for (const TensorPiece& piece : pieces) {
        const index taken = std::clamp<index>(piece.elements() - first, 0, count);
        if (taken > 0) {
          write_piece(piece, first, taken, weights, out);
          out += taken;
          count -= taken;
        }
        first = std::max<index>(first - piece.elements(), 0);
      }
    };
    tensors.push_back({.name = tensor.name, .type = type_of(tensor), .shape = tensor.shape, .values = values});
  }
  return tensors;
}

}  // namespace dikkat
