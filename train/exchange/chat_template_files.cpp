#include "train/exchange/chat_template_files.h"

#include <algorithm>
#include <map>

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/system/folder.h"
#include "train/system/json.h"
#include "train/system/placeholder.h"
#include "train/text/utf8.h"

namespace dikkat {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr index kMostBytes = index{2} << 20;
constexpr const char* kDefault = "default";

using Named = std::map<std::string, std::string>;  // templates by name

std::string checked(std::string text, const std::string& where) {
  require_input(!utf8::first_invalid(text) && text.find('\0') == std::string::npos, where,
                ": the chat template is not UTF-8, or has a null character");
  return text;
}

std::string text_of_file(const fs::path& file) {
  std::string text = read_bytes(file, kMostBytes + 1);
  require_input(std::ssize(text) <= kMostBytes, file.string(), " has more than ", kMostBytes, " bytes, expected a chat template");
  require_no_placeholder(text, file.string());
  return checked(std::move(text), file.string());
}

/// Parses the value of a chat_template key: a string, a list of {name, template}, or an object of strings by name.
Named named_templates(const json& value, const std::string& where) {
  const auto refuse = [&]() {
    fail_input(where, ": chat_template is ", short_text(value), ", expected a text, or a list of {\"name\", \"template\"}");
  };
  if (value.is_string()) {
    return {{kDefault, checked(value.get<std::string>(), where)}};
  }
  Named found;
  if (value.is_object()) {
    for (const auto& [name, text] : value.items()) {
      if (!text.is_string()) {
        refuse();
      }
      found.emplace(name, checked(text.get<std::string>(), where));
    }
    return found;
  }
  if (!value.is_array()) {
    refuse();
  }
  for (const json& entry : value) {
    const auto text_at = [&](const char* key) { return entry.is_object() && entry.contains(key) && entry[key].is_string(); };
    if (!text_at("name") || !text_at("template")) {
      refuse();
    }
    const bool is_new = found.emplace(entry["name"].get<std::string>(), checked(entry["template"].get<std::string>(), where)).second;
    require_input(is_new, where, ": chat_template has two templates named ", short_text(entry["name"]));
  }
  return found;
}

/// Separates the default template from the others. In an error, `where` names their place and `advice` how to make one the default.
ChatTemplateFiles chosen(Named found, const std::string& where, const std::string& advice) {
  ChatTemplateFiles files;
  if (const auto first = found.find(kDefault); first != found.end()) {
    files.text = std::move(first->second);
    found.erase(first);
  }
  std::string list;
  for (const auto& [name, text] : found) {
    files.others.push_back(name);
    list += concat(list.empty() ? "" : ", ", name);
  }
  require_input(!files.text.empty() || files.others.empty(), where, " has the chat templates ", list, ", but none is named ", kDefault,
                ": ", advice);
  return files;
}

/// Returns the chat_template of a JSON file; empty if the file or the key is missing.
Named templates_in_json(const fs::path& file) {
  if (!is_there(file)) {
    return {};
  }
  JsonLimits limits = kConfigLimits;
  limits.bytes = std::size_t{16} << 20;
  const json config =
      parse_json_object(read_bytes(file, static_cast<index>(limits.bytes) + 1), file.string(), "a file of a Hugging Face model", limits);
  const auto value = config.find("chat_template");
  return value == config.end() || value->is_null() ? Named() : named_templates(*value, file.string());
}

}  // namespace

ChatTemplateFiles chat_templates_in(const fs::path& folder) {
  if (!is_folder(folder)) {
    return {};
  }
  Named found;
  if (const fs::path more = folder / "additional_chat_templates"; is_folder(more)) {
    for (const fs::path& file : paths_in(more)) {
      if (file.extension() == ".jinja") {
        found.emplace(file.stem().string(), text_of_file(file));
      }
    }
  }
  if (const fs::path file = folder / "chat_template.jinja"; is_there(file)) {
    found.insert_or_assign(kDefault, text_of_file(file));
  }
  for (const char* name : {"tokenizer_config.json", "chat_template.json"}) {
    if (!found.contains(kDefault)) {
      found.merge(templates_in_json(folder / name));
    }
  }
  return chosen(std::move(found), folder.string(), concat("save the one to use as ", (folder / "chat_template.jinja").string()));
}

ChatTemplateFiles chat_templates_in(const WeightFile& file) {
  constexpr std::string_view kKey = "tokenizer.chat_template";
  Named found;
  for (const MetaEntry& entry : file.metadata()) {
    if (!entry.key.starts_with(kKey)) {
      continue;
    }
    const std::string rest = entry.key.substr(kKey.size());
    if (rest.empty() || rest.starts_with('.')) {
      const auto text = entry.value.string();
      require_input(text.has_value(), file.name(), ": ", entry.key, " is ", entry.value.text(), ", expected a text");
      found.emplace(rest.empty() ? kDefault : rest.substr(1), checked(std::string(*text), file.name()));
    }
  }
  return chosen(std::move(found), file.name(), "in the program that wrote the file, store the one to use as tokenizer.chat_template");
}

}  // namespace dikkat
