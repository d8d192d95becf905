#include "train/exchange/export_adapters.h"

#include <algorithm>
#include <iterator>
#include <set>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/exchange/foreign_config.h"
#include "train/exchange/formats/gguf_writer.h"
#include "train/exchange/formats/safetensors.h"
#include "train/exchange/peft_files.h"
#include "train/exchange/tensor_map.h"
#include "train/system/file.h"
#include "train/system/json.h"
#include "train/system/new_folder.h"

namespace dikkat {
namespace {

namespace fs = std::filesystem;

constexpr AdapterNames kGguf{.before = "", .cut = "", .a = ".lora_a", .b = ".lora_b"};

std::vector<NewTensor> in_f32(const std::vector<MappedTensor>& map, const ParameterStore& store) {
  return new_tensors(map, store, [](const MappedTensor&) { return WeightType::f32; });
}

/// Returns the family whose names the adapters get. Several may have one model, as both classes of Granite do. Then it is the base's own,
/// or for GGUF the first that has an architecture there.
const Family& family_of_base(const AdaptersToExport& adapters, ExportFormat format) {
  std::string why;
  const std::vector<const Family*> able = families_of(adapters.config, why);
  require_input(!able.empty(), format == ExportFormat::hf ? "Hugging Face" : "GGUF", " has no model of this kind: ", why);
  const auto fits = [&](const Family* family) { return family != nullptr && (format == ExportFormat::hf || !family->gguf.empty()); };
  if (fits(adapters.base_family)) {
    return *adapters.base_family;
  }
  const auto found = std::ranges::find_if(able, fits);
  return found != able.end() ? **found : *able.front();
}

std::string last_name(const std::string& module) { return module.substr(module.rfind('.') + 1); }

/// Returns the modules of the tensors whose names end with `end`. The names begin with `before`.
std::set<std::string> modules_of(const std::vector<MappedTensor>& tensors, std::string_view before, std::string_view end) {
  std::set<std::string> modules;
  for (const MappedTensor& tensor : tensors) {
    if (tensor.name.ends_with(end)) {
      modules.insert(tensor.name.substr(before.size(), tensor.name.size() - before.size() - end.size()));
    }
  }
  return modules;
}

/// Returns names by which PEFT finds these modules and no others: their last names ("q_proj"), or their full names if another module ends
/// with one.
std::set<std::string> short_names(const std::set<std::string>& modules, const std::set<std::string>& model) {
  std::set<std::string> last;
  std::ranges::transform(modules, std::inserter(last, last.end()), last_name);
  const bool is_ambiguous = std::ranges::any_of(model, [&](const std::string& module) {
    return !modules.contains(module) && std::ranges::any_of(last, [&](const std::string& name) { return module.ends_with(name); });
  });
  return is_ambiguous ? modules : last;
}

/// Returns the tensors that were trained in full. PEFT trains a head and a token table separately even if the base ties them. Then the
/// matrix is written as both.
std::vector<MappedTensor> saved_tensors(const Family& family, const AdaptersToExport& adapters, const std::vector<MappedTensor>& model) {
  const std::string_view table = name_in(family.tensors, kTokenTable), head = name_in(family.tensors, kHeadWeight);
  std::vector<MappedTensor> saved;
  for (const MappedTensor& tensor : model) {
    const ParameterStore::Entry* ours = tensor.pieces.front().ours;
    if (ours == nullptr || !ours->with_adapters) {
      continue;
    }
    saved.push_back(tensor);
    if (adapters.config.tie_embeddings && tensor.name == table) {
      saved.push_back(tensor);
      saved.back().name = head;
    }
  }
  return saved;
}

void export_peft(const AdaptersToExport& adapters, const Family& family, const fs::path& path) {
  // Name the tensors of the adapters and of the modules that were trained in full.
  std::vector<MappedTensor> map = map_adapters(family.tensors, adapters.config, adapters.parameters, kPeftNames);
  const std::vector<MappedTensor> model = map_tensors(family.tensors, adapters.config, adapters.parameters, family.has_all_biases);
  const std::set<std::string> all = modules_of(model, "", kPeftNames.cut), adapted = modules_of(map, kPeftNames.before, kPeftNames.a);
  std::set<std::string> saved;
  for (MappedTensor& tensor : saved_tensors(family, adapters, model)) {
    const std::string module = module_of(tensor.name);
    require_input(
        !adapted.contains(module), "lora.modules_to_save trains ", tensor.name,
        " in full, but its module also has adapters, expected only one of the two: PEFT cannot hold both; export a complete model "
        "(leave --adapter out)");
    saved.insert(module);
    tensor.name = concat(kPeftNames.before, tensor.name);
    map.push_back(std::move(tensor));
  }
  // Describe them in the terms of PEFT.
  const LoraConfig& lora = adapters.lora;
  const nlohmann::ordered_json config{
      {"peft_type", "LORA"},
      {"task_type", "CAUSAL_LM"},
      {"base_model_name_or_path", adapters.base},
      {"r", lora.rank},
      {"lora_alpha", *lora.alpha},
      {"lora_dropout", lora.dropout},
      {"use_rslora", lora.rank_stabilized},
      {"use_dora", false},
      {"bias", "none"},
      {"fan_in_fan_out", family.name == "gpt2"},  // GPT-2 has Conv1D layers, with weights (in, out)
      {"target_modules", short_names(adapted, all)},
      {"modules_to_save", saved.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(short_names(saved, all))},
      {"inference_mode", true}};
  // Write both files to a new folder.
  NewFolder new_folder(path);
  const fs::path& folder = new_folder.path();
  write_safetensors((folder / "adapter_model.safetensors").string(), in_f32(map, adapters.parameters));
  replace_file(folder / "adapter_config.json", json_text(config, 2) + "\n");
  new_folder.finish();
}

}  // namespace

void export_adapters(const AdaptersToExport& adapters, const fs::path& path, ExportFormat format) {
  require_input(!is_there(path), path.string(), " exists and is never overwritten: choose a new name");
  require_input(format != ExportFormat::llmc,
                "llm.c has no adapters, expected hf (PEFT) or gguf; or make a complete model of them with dikkat merge");
  const Family& family = family_of_base(adapters, format);
  if (format == ExportFormat::hf) {
    export_peft(adapters, family, path);
    return;
  }
  require_input(adapters.lora.modules_to_save.empty(), "lora.modules_to_save is ",
                fmt::format("{}", fmt::join(adapters.lora.modules_to_save, ", ")),
                ", but a GGUF file of adapters holds only their factors: export a PEFT folder (--format hf), or a "
                "complete model (leave --adapter out)");
  require_input(!family.gguf.empty(), "GGUF has no architecture for this model: Hugging Face's is ", family.name,
                ", expected another format (--format hf)");
  // llama.cpp scales B A by alpha / rank.
  const auto alpha = static_cast<float>(scale_of(adapters.lora) * static_cast<double>(adapters.lora.rank));
  write_gguf(path.string(),
             {{"general.type", MetaValue("adapter")},
              {"general.architecture", MetaValue(gguf_name_of(family))},
              {"adapter.type", MetaValue("lora")},
              {"adapter.lora.alpha", MetaValue(alpha)}},
             in_f32(map_adapters(family.gguf_tensors, adapters.config, adapters.parameters, kGguf), adapters.parameters));
}

}  // namespace dikkat
