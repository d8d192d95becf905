#include "train/run/origin.h"

#include "autograd/base/error.h"
#include "train/config/key_effect.h"
#include "train/config/resolve.h"
#include "train/config/schema.h"
#include "train/config/settle_chat.h"
#include "train/data/tokens/open_tokenizer.h"
#include "train/data/training_data.h"

namespace dikkat {
namespace {

using schema::has_effect;
using schema::Key;

/// Returns whether a fixed key of the model or tokenizer has another value than the checkpoint's. adopt_model() compares tokenizer.path by
/// the file's contents.
bool contradicts(const Key& key, const Config& config, const Config& theirs) {
  const bool has_no_table = config.model.positions == Positions::rope || config.model.positions == Positions::none;
  const bool gets_head = theirs.model.classes == 0 && config.classify.is_on();  // a run learns labels with a head of its own
  const bool is_free =
      key.path() == "tokenizer.path" || (key.path() == "model.block_size" && has_no_table) || (key.path() == "model.classes" && gets_head);
  return (key.section == "model" || key.section == "tokenizer") && key.rule.fixed && !is_free && key.is_set(config) &&
         has_effect(key, config) && has_effect(key, theirs) && key.get(config) != key.get(theirs);
}

}  // namespace

Config config_of_origin(const ModelOrigin& origin) {
  const Config& theirs = origin.config();
  Config config;
  config.model = theirs.model;
  config.tokenizer = theirs.tokenizer;
  config.data.window = theirs.data.window;
  if (config.classify.labels = theirs.classify.labels; !config.classify.labels.empty()) {
    config.classify.several = theirs.classify.several;
  }
  return config;
}

void adopt_model(Config& config, const ModelOrigin& origin) {
  // Keys that are not set take the origin's values.
  const Config& theirs = origin.config();
  for (const Key& key : schema::keys()) {
    if (key.section == "model" && !key.is_set(config) && key.is_set(theirs)) {
      key.set(config, key.get(theirs));
    }
  }
  const bool has_their_window = theirs.data.window.is_set() && config.data.window == theirs.data.window;
  if (has_their_window && config.model.block_size != theirs.model.block_size) {
    config.data.window = {};  // model.block_size sets the length of windows
  }
  resolve(config);
  config.model.vocab_size.derive(theirs.model.vocab_size);
  // List the keys that contradict the origin.
  std::string list;
  const auto add = [&](const std::string& path, const std::string& ours, const std::string& of_origin) {
    append_to(list, concat(list.empty() ? "" : ", ", path, " is ", ours, " (checkpoint: ", of_origin, ")"));
  };
  for (const Key& key : schema::keys()) {
    if (contradicts(key, config, theirs)) {
      add(key.path(), schema::to_toml(key.get(config)), schema::to_toml(key.get(theirs)));
    }
  }
  // Tokenizers are compared by their contents, since their paths may differ.
  if (const std::string& path = config.tokenizer.path; list.empty() && !path.empty() && path != theirs.tokenizer.path) {
    const auto ours = open_tokenizer(path);
    const auto of_origin = tokenizer_from_json(origin.tokenizer());
    if (ours->to_json() != of_origin->to_json()) {
      const auto described = [](const Tokenizer& tokenizer) {
        return concat("a ", tokenizer.kind(), " tokenizer with ", tokenizer.vocab_size(), " tokens");
      };
      add("tokenizer.path", concat(schema::to_toml(path), " (", described(*ours), ')'), described(*of_origin));
    }
  }
  require_input(list.empty(), "the configuration contradicts the checkpoint that the run starts from, ", origin.path().string(), ": ", list,
                "; leave out such keys to take the checkpoint's values, or start without --init-from (train.init_from)");
  config.tokenizer = theirs.tokenizer;
}

Config complete_config(const std::function<Config(Config others)>& write) {
  Config config = write({});
  if (config.train.init_from.empty()) {
    resolve(config);
  } else {
    const ModelOrigin origin = ModelOrigin::open(config.train.init_from);
    config = write(config_of_origin(origin));
    adopt_model(config, origin);
  }
  validate(config);
  return config;
}

void adopt_template(Config& config, const ModelOrigin& origin) {
  const ChatConfig& theirs = origin.config().chat;
  ChatConfig& ours = config.chat;
  if (ours.template_name == "auto" && ours.jinja.empty()) {
    ours.template_name = theirs.template_name;
    ours.jinja = theirs.jinja;
    ours.date = ours.date.empty() ? theirs.date : ours.date;
    ours.variables = ours.variables.empty() ? theirs.variables : ours.variables;
    ours.system = ours.system.empty() ? theirs.system : ours.system;
  }
  if (static_cast<const AnswerSampling&>(ours) == AnswerSampling()) {
    static_cast<AnswerSampling&>(ours) = theirs;
  }
  settle_date(ours);
}

}  // namespace dikkat
