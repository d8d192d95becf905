#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "train/cli/commands.h"
#include "train/cli/shared_options.h"
#include "train/cli/streams.h"
#include "train/cli/text.h"
#include "train/config/parse.h"
#include "train/model/trained_model.h"

namespace dikkat {
namespace {

struct InspectArguments {
  std::string source;
  bool best = false;
  bool json = false;
};

using Json = nlohmann::ordered_json;

Json state_of(const CheckpointFile& checkpoint) {
  Json state;
  for_each_field(checkpoint.state(), [&](const char* name, const auto& value) { state[name] = value; });
  return state;
}

std::vector<index> extents_of(const Shape& shape) {
  std::vector<index> extents;
  extents.reserve(static_cast<std::size_t>(shape.rank()));
  for (int axis = 0; axis < shape.rank(); ++axis) {
    extents.push_back(shape[axis]);
  }
  return extents;
}

index parameter_count(const CheckpointFile& checkpoint) {
  index count = 0;
  for (const StoredTensor& tensor : checkpoint.tensors()) {
    count += tensor.group == TensorGroup::model ? tensor.shape.size() : 0;
  }
  return count;
}

int inspect_command(const InspectArguments& arguments) {
  const CheckpointFile checkpoint = open_checkpoint(arguments.source, arguments.best ? Pick::best : Pick::newest);
  const auto tokenizer = tokenizer_from_json(checkpoint.tokenizer());
  if (arguments.json) {
    Json tensors = Json::array();
    for (const StoredTensor& tensor : checkpoint.tensors()) {
      tensors.push_back({{"group", path_of(tensor.group)}, {"name", tensor.name}, {"shape", extents_of(tensor.shape)}});
    }
    const Json object{{"checkpoint", checkpoint.path().string()},
                      {"format", checkpoint.format()},
                      {"bytes", checkpoint.bytes()},
                      {"hash", checkpoint.hash()},
                      {"step", checkpoint.state().step},
                      {"parameters", parameter_count(checkpoint)},
                      {"tokenizer", {{"kind", tokenizer->kind()}, {"vocab_size", tokenizer->vocab_size()}}},
                      {"state", state_of(checkpoint)},
                      {"config", checkpoint.config()},
                      {"tensors", tensors}};
    put(object.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n');
  } else {
    put(fmt::format("checkpoint  {} ({}, format {})\n", checkpoint.path().string(), short_bytes(static_cast<double>(checkpoint.bytes())),
                    checkpoint.format()));
    put(fmt::format("step        {}\n", checkpoint.state().step));
    put(fmt::format("parameters  {}\n", grouped_digits(parameter_count(checkpoint))));
    put(fmt::format("tokenizer   {}, {} tokens\n", tokenizer->kind(), grouped_digits(tokenizer->vocab_size())));
    put("\ntensors (each also in optimizer/m and optimizer/v)\n");
    for (const StoredTensor& tensor : checkpoint.tensors()) {
      if (tensor.group == TensorGroup::model) {
        put(fmt::format("  {:<28} {}\n", tensor.name, concat(tensor.shape)));
      }
    }
    put("\nstate\n");
    const Json state = state_of(checkpoint);
    for (const auto& [name, value] : state.items()) {
      put(for_terminal(fmt::format("  {:<28} {}\n", name, value.dump(-1, ' ', false, Json::error_handler_t::replace))));
    }
    put("\nconfiguration\n" + for_terminal(checkpoint.config()));
  }
  flush_results();
  return 0;
}

}  // namespace

void add_inspect(Commands& program) {
  constexpr const char* kExamples = R"(  dikkat inspect runs/mine
  dikkat inspect runs/mine/checkpoints/step-000000700.h5 --json)";
  const auto a = std::make_shared<InspectArguments>();
  Command command = program.add("inspect", "What is in a checkpoint: step, parameters, tensors, configuration, tokenizer", kExamples,
                                [a] { return inspect_command(*a); });
  add_source(command, a->source, a->best);
  command.flag("--json", a->json, "One object");
}

}  // namespace dikkat
