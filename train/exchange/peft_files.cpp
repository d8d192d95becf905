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
  std::vector<std::string> replaced{};  // modules_to_save
  index rank = 0;
  double scale = 0;
};

namespace {

/// Keys of adapters that do more than add B A to linear layers and replace modules, unless their value is null, false or empty.
constexpr const char* kUnknown[] = {
    "rank_pattern",      "alpha_pattern", "use_dora",   "lora_bias",    "layer_replication",       "trainable_token_indices",
    "target_parameters", "use_qalora",    "use_bdlora", "arrow_config", "alora_invocation_tokens", "megatron_config"};

/// Returns whether a module's name is one of `names`, or ends with one of them; nullopt if `names` is not a list.
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

/// Returns whether each tensor of the file belongs to a module of the family. Names may lack the prefix of a model without its head.
bool names_modules(const Family& family, const WeightFile& file, const TransformerConfig& config, const ParameterStore& store) {
  std::set<std::string, std::less<>> modules{module_of(name_in(family.tensors, kHeadWeight))};
  for (const MappedTensor& tensor : map_tensors(family.tensors, config, store)) {
    const std::string module = module_of(tensor.name);
    modules.insert(module);
    modules.insert(module.substr(module.starts_with(family.prefix) ? family.prefix.size() : 0));
  }
  return std::ranges::all_of(file.tensors(), [&](const WeightTensor& tensor) {
    std::string_view name = tensor.name;
    name.remove_prefix(name.starts_with(kPeftNames.before) ? kPeftNames.before.size() : 0);
    for (const std::string_view end : {kPeftNames.a, kPeftNames.b}) {
      if (name.ends_with(end)) {
        return modules.contains(name.substr(0, name.size() - end.size()));
      }
    }
    return modules.contains(module_of(name));
  });
}

/// The names of a base's tensors in a file of PEFT.
struct BaseNames {
  const Family* family = nullptr;
  bool lacks_prefix = false;  // a model that was saved without its head has names without the prefix

  /// Returns the name of a module or a tensor of the family in the file.
  std::string in_file(std::string name) const {
    name.erase(0, lacks_prefix && name.starts_with(family->prefix) ? family->prefix.size() : 0);
    return concat(kPeftNames.before, name);
  }
};

/// Returns the names that the file uses. The base's family decides them; if several families have this model, the names in the file decide.
BaseNames names_of_base(const fs::path& path, const WeightFile& file, const TransformerConfig& config, const ParameterStore& store) {
  std::string why;
  const std::vector<const Family*> possible = families_of(config, why);
  const auto is_named = [&](const Family* one) { return names_modules(*one, file, config, store); };
  const auto named = std::ranges::find_if(possible, is_named);
  const Family* family = named != possible.end() ? *named : possible.empty() ? nullptr : possible.front();
  require_input(family != nullptr, path.string(), " holds PEFT adapters, but Hugging Face has no model of their base's kind: ", why);
  const std::string whole = concat(kPeftNames.before, family->prefix);
  return {.family = family,
          .lacks_prefix = std::ranges::none_of(file.tensors(), [&](const WeightTensor& tensor) { return tensor.name.starts_with(whole); })};
}

/// Returns whether PEFT replaces a module: its name ends with an entry of modules_to_save, as PEFT compares them.
bool is_replaced(const std::vector<std::string>& entries, std::string_view module) {
  return std::ranges::any_of(entries, [&](const std::string& entry) { return module.ends_with(entry); });
}

/// The tensors of a file that the changes of a base take, and the problems with them.
struct Taken {
  const WeightFile& file;
  TensorProblems problems{};
  std::set<std::string_view> names{};

  /// Takes a tensor that must be there, and returns it; null if it is missing.
  const WeightTensor* take(const std::string& name, const std::vector<index>& shape) {
    const WeightTensor* found = file.find(name);
    if (found == nullptr) {
      problems.missing.push_back(name);
      return nullptr;
    }
    names.insert(found->name);
    problems.compare(*found, shape);
    return found;
  }
};

/// Returns the tensors of the modules in modules_to_save. A module may lack some of its tensors, but not all of them. With a tied head the
/// file may have the token table under both names.
std::vector<PeftReplacement> replacements_of(const std::vector<std::string>& entries, const std::vector<MappedTensor>& base,
                                             const BaseNames& names, bool is_tied, Taken& taken) {
  std::vector<PeftReplacement> all;
  std::set<std::string> wanted, found;
  const std::string table(name_in(names.family->tensors, kTokenTable)), head(name_in(names.family->tensors, kHeadWeight));
  for (const MappedTensor& tensor : base) {
    const std::string module = module_of(tensor.name);
    std::vector<std::string> possible;
    if (is_replaced(entries, module)) {
      possible.push_back(names.in_file(tensor.name));
    }
    if (is_tied && tensor.name == table && is_replaced(entries, module_of(head))) {
      possible.push_back(names.in_file(head));
    }
    if (!possible.empty()) {
      wanted.insert(module);
    }
    for (const std::string& name : possible) {
      if (taken.file.find(name) != nullptr) {
        const WeightTensor* theirs = taken.take(name, tensor.shape);
        all.push_back({.ours = tensor, .theirs = theirs});
        found.insert(module);
      }
    }
  }
  for (const std::string& module : wanted) {
    if (!found.contains(module)) {
      taken.problems.missing.push_back(concat(names.in_file(module), kPeftNames.cut));
    }
  }
  return all;
}

/// Returns the factors of each linear layer that is not replaced. A layer may have none if target_modules does not name it.
std::vector<PeftFactors> factors_of(const json& config, const std::vector<std::string>& replaced, index rank,
                                    const std::vector<MappedTensor>& base, const BaseNames& names, Taken& taken) {
  std::vector<PeftFactors> factors;
  for (const MappedTensor& tensor : base) {
    const TensorPiece& piece = tensor.pieces.front();
    const bool is_linear = piece.ours->role == Role::hidden || piece.ours->role == Role::head;
    const std::string module = module_of(tensor.name);
    if (!is_linear || tensor.shape.size() != 2 || !tensor.name.ends_with(kPeftNames.cut) || is_replaced(replaced, module)) {
      continue;
    }
    const std::string in_file = names.in_file(module);
    const std::string_view name(std::string_view(in_file).substr(kPeftNames.before.size()));
    const std::string name_a = concat(in_file, kPeftNames.a), name_b = concat(in_file, kPeftNames.b);
    const bool is_there = taken.file.find(name_a) != nullptr || taken.file.find(name_b) != nullptr;
    const std::optional<bool> targeted = is_among(find_value(config, "target_modules"), name);
    const json* excluding = find_value(config, "exclude_modules");
    const std::optional<bool> excluded = excluding != nullptr && !is_nothing(*excluding) ? is_among(excluding, name) : false;
    if (!is_there && (!targeted.value_or(false) || excluded.value_or(true))) {
      continue;
    }
    if (targeted == false || excluded == true) {
      continue;  // its tensors are reported as left over
    }
    const WeightTensor* a = taken.take(name_a, {rank, piece.cols});
    MappedRows rows = rows_of(tensor);
    const WeightTensor* b = taken.take(name_b, {rows.count, rank});
    factors.push_back({.weight = piece.ours, .rows = std::move(rows), .a = a, .b = b});
  }
  return factors;
}

}  // namespace

std::string module_of(std::string_view tensor) { return std::string(tensor.substr(0, tensor.rfind('.'))); }

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
  if (const json* replaced = find_value(c.config, "modules_to_save"); replaced != nullptr && !is_nothing(*replaced)) {
    c.replaced = fields.texts("modules_to_save");
    std::erase(c.replaced, "");
  }
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

bool PeftFiles::unties_head(const TransformerConfig& config, const ParameterStore& store) const {
  const Contents& c = *contents_;
  if (!config.tie_embeddings || c.replaced.empty()) {
    return false;
  }
  const BaseNames names = names_of_base(c.path, c.tensors, config, store);
  const auto replacement_of = [&](std::string_view ours) {
    const std::string name(name_in(names.family->tensors, ours));
    return is_replaced(c.replaced, module_of(name)) ? c.tensors.find(names.in_file(name)) : nullptr;
  };
  const WeightTensor *table = replacement_of(kTokenTable), *head = replacement_of(kHeadWeight);
  if (table == nullptr || head == nullptr) {
    return table != head && !JsonFields(c.config, (c.path / "adapter_config.json").string()).flag("ensure_weight_tying");
  }
  return !same_numbers(*table, *head);
}

PeftChanges PeftFiles::changes(const TransformerConfig& config, const ParameterStore& store) const {
  const Contents& c = *contents_;
  const std::string name = (c.path / "adapter_config.json").string();
  const BaseNames names = names_of_base(c.path, c.tensors, config, store);
  const bool transposes = names.family->name == "gpt2";  // GPT-2 has Conv1D layers, with weights (in, out)
  require_input(JsonFields(c.config, name).flag("fan_in_fan_out") == transposes, name, ": fan_in_fan_out is ", !transposes, ", expected ",
                transposes, " for the family ", names.family->name);
  check_layers(c.config, name, config.n_layer);

  // Refuse names of modules that PEFT would not find either.
  const std::vector<MappedTensor> base = map_tensors(names.family->tensors, config, store);
  const std::string head = module_of(name_in(names.family->tensors, kHeadWeight));
  for (const std::string& entry : c.replaced) {
    const bool is_there = head.ends_with(entry) ||
                          std::ranges::any_of(base, [&](const MappedTensor& tensor) { return module_of(tensor.name).ends_with(entry); });
    require_input(is_there, name, ": modules_to_save has \"", entry, "\", expected names of modules that the base has, such as ",
                  module_of(name_in(names.family->tensors, kTokenTable)), " and ", head);
  }

  // Take the tensors, and report those that are missing or left over.
  Taken taken{.file = c.tensors};
  PeftChanges changes;
  changes.replacements = replacements_of(c.replaced, base, names, config.tie_embeddings, taken);
  changes.factors = factors_of(c.config, c.replaced, c.rank, base, names, taken);
  for (const WeightTensor& tensor : c.tensors.tensors()) {
    if (!taken.names.contains(tensor.name)) {
      taken.problems.other.push_back(tensor.name);
    }
  }
  const std::string text =
      taken.problems.text("tensors that belong neither to a linear layer in target_modules nor to a module in modules_to_save: ");
  require_input(text.empty(), c.tensors.name(), " does not hold the adapters of this model that its configuration describes: ", text);
  require_input(!changes.factors.empty(), c.tensors.name(), " holds no adapters");
  return changes;
}

}  // namespace dikkat
