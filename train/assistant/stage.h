#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "autograd/base/names.h"
#include "train/config/edit.h"

namespace dikkat::assistant {

/// The stages of an assistant, in their order. The name of a stage is that of its folder, too.
enum class StageKind { pretrain, chats, preferences };

/// A stage as an ordinary run: changes of the default configuration, the texts, and the model that it starts from.
struct StageRun {
  std::vector<ConfigEdit> edits{};
  std::vector<std::string> corpus{};
  std::string init_from{};  ///< empty: a new model
};

}  // namespace dikkat::assistant

template <>
struct dikkat::Names<dikkat::assistant::StageKind> {
  static constexpr std::string_view of[] = {"pretrain", "chats", "preferences"};
};
