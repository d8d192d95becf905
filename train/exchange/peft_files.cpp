#include "train/exchange/peft_files.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/exchange/foreign_config.h"
#include "train/exchange/formats/safetensors.h"
#include "train/system/file.h"
#include "train/system/json.h"
#include "train/system/json_fields.h"

namespace dikkat {

namespace fs = std::filesystem;
using nlohmann::json;

struct PeftFiles::Contents {
  fs::path path;
  WeightFile tensors;
  json config{};
  std::string base{};
  index rank = 0;
  double scale = 0;
};

namespace {

/// Keys of adapters that do more than add B A to linear layers, unless their value is null, false or empty.
constexpr const char* kUnknown[] = {
    "modules_to_save",         "rank_pattern",      "alpha_pattern", "use_dora",   "lora_bias",    "layer_replication",
    "trainable_token_indices", "target_parameters", "use_qalora",    "use_bdlora", "arrow_config", "alora_invocation_tokens",
    "megatron_config"};

/// Whether a module's name is one of `names`, or ends with one of them; nullopt if `names` is not a list.
std::optional<bool> is_among(const json* names, std::string_view module) {
  if (names == nullptr || !names->is_array()) {
    return std::nullopt;  // a Python regular expression, or "all-linear"
  }
  return std::ranges::any_of(*names, [&](const json& entry) {
    const std::string name = entry.is_string() ? entry.get<std::string>() : "";
    return !name.empty() && (module == name || module.ends_with("." + name));
  });
}

/// Throws InputError for adapters that this program does not support.
void check(const json& config, const std::string& name) {
  const auto refuse_unless = [&](bool ok, const char* key, const char* expected) {
    const json* value = find_value(config, key);
    require_input(ok, name, ": ", key, " is ", value != nullptr ? short_text(*value) : "missing", ", expected ", expected);
  };
  const json* type = find_value(config, "peft_type");
  refuse_unless(type != nullptr && *type == "LORA", "peft_type", "\"LORA\"");
  for (const char* key : kUnknown) {
    const json* value = find_value(config, key);
    refuse_unless(value == nullptr || is_nothing(*value), key, "null: dikkat does not have such adapters");
  }
  for (const char* key : {"r", "lora_alpha"}) {
    refuse_unless(find_value(config, key) != nullptr, key, "a number");
  }
  const json* bias = find_value(config, "bias");
  refuse_unless(bias == nullptr || *bias == "none", "bias", "\"none\"");
  // Other values (PiSSA, OLoRA, LoftQ, CorDA) change the weights of the base, so these would differ from its files.
  const json* first = find_value(config, "init_lora_weights");
  refuse_unless(first == nullptr || first->is_boolean() || *first == "gaussian" || *first == "orthogonal" || *first == "eva",
                "init_lora_weights", "true, false, \"gaussian\", \"orthogonal\" or \"eva\", which do not change the base");
}

/// Throws InputError if layers_to_transform selects only some of the layers.
void check_layers(const json& config, const std::string& name, index n_layer) {
  const json* layers = find_value(config, "layers_to_transform");
  if (layers == nullptr) {
    return;
  }
  std::set<json> listed;
  for (const json& layer : layers->is_array() ? *layers : json::array({*layers})) {
    listed.insert(layer);
  }
  std::set<json> all;
  for (index layer = 0; layer < n_layer; ++layer) {
    all.insert(json(layer));
  }
  require_input(listed == all, name, ": layers_to_transform is ", short_text(*layers), ", expected null, or all ", n_layer, " layers");
}

/// Whether each tensor of the file is a factor of a matrix that the family has. Names may lack the prefix of a model without its head.
bool names_modules(const Family& family, const WeightFile& file, const TransformerConfig& config, const ParameterStore& store) {
  std::set<std::string, std::less<>> modules;
  for (const MappedTensor& tensor : map_tensors(family.tensors, config, store)) {
    if (tensor.name.ends_with(kPeftNames.cut)) {
      const std::string module = tensor.name.substr(0, tensor.name.size() - kPeftNames.cut.size());
      modules.insert(module);
      modules.insert(module.substr(module.starts_with(family.prefix) ? family.prefix.size() : 0));
    }
  }
  return std::ranges::all_of(file.tensors(), [&](const WeightTensor& tensor) {
    std::string_view module = tensor.name;
    for (const std::string_view end : {kPeftNames.a, kPeftNames.b}) {
      module.remove_suffix(module.ends_with(end) ? end.size() : 0);
    }
    module.remove_prefix(module.starts_with(kPeftNames.before) ? kPeftNames.before.size() : 0);
    return modules.contains(module);
  });
}

}  // namespace

bool PeftFiles::is_at(const fs::path& path) {
  std::error_code none;
  return fs::is_directory(path, none) && fs::exists(path / "adapter_config.json", none);
}

PeftFiles::PeftFiles(const fs::path& path) {
  const fs::path file = path / "adapter_config.json";
  const fs::path tensors = path / "adapter_model.safetensors";
  json config = parse_json_object(read_bytes(file, kConfigLimits.bytes + 1), file.string(), "an adapter_config.json of PEFT");
  check(config, file.string());
  require_input(is_there(tensors), path.string(),
                " has an adapter_config.json but no adapters beside it, expected adapter_model.safetensors");
  contents_ =
      std::make_unique<Contents>(Contents{.path = path, .tensors = open_safetensors(tensors.string()), .config = std::move(config)});
  Contents& c = *contents_;
  if (const json* base = find_value(c.config, "base_model_name_or_path"); base != nullptr && base->is_string()) {
    c.base = base->get<std::string>();
  }
  const JsonFields fields(c.config, file.string());
  c.rank = *fields.integer("r", 1, 1'000'000);
  const auto rank = static_cast<double>(c.rank);
  c.scale = *fields.number("lora_alpha", 1e-6, 1e6) / (fields.flag("use_rslora") ? std::sqrt(rank) : rank);
}

PeftFiles::~PeftFiles() = default;
PeftFiles::PeftFiles(PeftFiles&&) noexcept = default;
PeftFiles& PeftFiles::operator=(PeftFiles&&) noexcept = default;

const fs::path& PeftFiles::path() const { return contents_->path; }
const std::string& PeftFiles::base() const { return contents_->base; }
double PeftFiles::scale() const { return contents_->scale; }

std::vector<PeftFactors> PeftFiles::factors(const TransformerConfig& config, const ParameterStore& store) const {
  // The base's family decides the names of the modules. If several families have this model, the names in the file decide.
  const Contents& c = *contents_;
  const std::string name = (c.path / "adapter_config.json").string();
  std::string why;
  const std::vector<const Family*> possible = families_of(config, why);
  const auto is_named = [&](const Family* one) { return names_modules(*one, c.tensors, config, store); };
  const auto named = std::ranges::find_if(possible, is_named);
  const Family* family = named != possible.end() ? *named : possible.empty() ? nullptr : possible.front();
  require_input(family != nullptr, c.path.string(), " holds PEFT adapters, but Hugging Face has no model of their base's kind: ", why);
  const bool transposes = family->name == "gpt2";  // GPT-2 has Conv1D layers, with weights (in, out)
  require_input(JsonFields(c.config, name).flag("fan_in_fan_out") == transposes, name, ": fan_in_fan_out is ", !transposes, ", expected ",
                transposes, " for the family ", family->name);
  check_layers(c.config, name, config.n_layer);

  // A model that was saved without its head has names without the prefix.
  const std::string whole = concat(kPeftNames.before, family->prefix);
  const bool lacks_prefix =
      std::ranges::none_of(c.tensors.tensors(), [&](const WeightTensor& tensor) { return tensor.name.starts_with(whole); });

  // The factors of each linear layer. A layer may have none if target_modules does not name it.
  TensorProblems problems;
  std::set<std::string_view> taken;
  std::vector<PeftFactors> factors;
  for (const MappedTensor& tensor : map_tensors(family->tensors, config, store)) {
    const TensorPiece& piece = tensor.pieces.front();
    const bool is_linear = piece.ours->role == Role::hidden || piece.ours->role == Role::head;
    if (!is_linear || tensor.shape.size() != 2 || !tensor.name.ends_with(kPeftNames.cut)) {
      continue;
    }
    std::string module = tensor.name.substr(0, tensor.name.size() - kPeftNames.cut.size());
    module.erase(0, lacks_prefix && module.starts_with(family->prefix) ? family->prefix.size() : 0);
    const std::string name_a = concat(kPeftNames.before, module, kPeftNames.a), name_b = concat(kPeftNames.before, module, kPeftNames.b);
    const WeightTensor *a = c.tensors.find(name_a), *b = c.tensors.find(name_b);
    const std::optional<bool> targeted = is_among(find_value(c.config, "target_modules"), module);
    const json* excluding = find_value(c.config, "exclude_modules");
    const std::optional<bool> excluded = excluding != nullptr && !is_nothing(*excluding) ? is_among(excluding, module) : false;
    if (a == nullptr && b == nullptr && (!targeted.value_or(false) || excluded.value_or(true))) {
      continue;
    }
    if (targeted == false || excluded == true) {
      continue;  // its tensors are reported as left over
    }
    const auto check_one = [&](const WeightTensor* found, const std::string& wanted, const std::vector<index>& shape) {
      if (found == nullptr) {
        problems.missing.push_back(wanted);
        return;
      }
      taken.insert(found->name);
      problems.compare(*found, shape);
    };
    check_one(a, name_a, {c.rank, piece.cols});
    MappedRows rows = rows_of(tensor);
    check_one(b, name_b, {rows.count, c.rank});
    factors.push_back({.weight = piece.ours, .rows = std::move(rows), .a = a, .b = b});
  }

  // Tensors that no layer takes, and the report.
  for (const WeightTensor& tensor : c.tensors.tensors()) {
    if (!taken.contains(tensor.name)) {
      problems.other.push_back(tensor.name);
    }
  }
  const std::string text = problems.text("tensors that belong to no linear layer in target_modules: ");
  require_input(text.empty(), c.tensors.name(), " does not hold the adapters of this model that its configuration describes: ", text);
  require_input(!factors.empty(), c.tensors.name(), " holds no adapters");
  return factors;
}

}  // namespace dikkat
