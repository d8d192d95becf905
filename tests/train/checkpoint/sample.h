#pragma once

#include <atomic>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <unistd.h>

#include "autograd/base/error.h"
#include "train/checkpoint/header.h"
#include "train/checkpoint/load.h"
#include "train/checkpoint/save.h"

namespace dikkat {

/// A folder that lives as long as the object. It is in memory if possible, since a sync of a busy disk takes long and these tests save
/// hundreds of times. Otherwise, or if asked for, it is where temporary files belong.
class ScratchDirectory {
 public:
  enum class On { memory, disk };

  explicit ScratchDirectory(On on = On::memory) {
    static std::atomic<int> count = 0;
    const std::filesystem::path memory = "/dev/shm";
    const bool use_memory = on == On::memory && ::access(memory.c_str(), W_OK | X_OK) == 0;
    path_ = (use_memory ? memory : std::filesystem::temp_directory_path()) / concat("dikkat-checkpoint-", ::getpid(), '-', ++count);
    std::filesystem::create_directories(path_);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  ~ScratchDirectory() { std::filesystem::remove_all(path_); }

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

inline void write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text;
}

inline std::set<std::string> names_in(const std::filesystem::path& path) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

/// A small snapshot with values that are easily lost: NaN payloads, -0.0, denormals, empty texts, a scalar, an empty tensor.
struct Sample {
  std::map<std::string, std::vector<float>> numbers;
  Snapshot snapshot;

  explicit Sample(index step = 7) {
    TrainingState& state = snapshot.state;
    state.step = step;
    state.tokens_seen = step * 1000;
    state.samples_seen = step * 10;
    state.epoch = 3;
    state.seed = 0xFEDCBA9876543210;
    state.evaluation_pending = true;
    state.best_val_loss = std::bit_cast<double>(0x7FF8'0000'0000'1234);
    state.best_step = 5;
    state.corpus_fingerprint = std::string(64, 'a');
    state.train_tokens = index{1} << 40;
    state.val_tokens = 12;
    state.program_version = "0.1.0";
    state.compiler = "g\xC3\xBC\n";
    snapshot.config = "[train]\nseed = 1\n";
    snapshot.tokenizer = std::string("{\"kind\":\"byte\"}\0\0", 17);
    for (const std::string group : {"model", "optimizer/m", "optimizer/v"}) {
      add(group + "/wte.weight", {5, 3});
      add(group + "/h.0.attn.c_attn.weight", {2, 2, 2, 2});
      add(group + "/scale", {});
      add(group + "/none", {0, 4});
    }
    float* special = numbers["model/wte.weight"].data();
    special[0] = -0.0F;
    special[1] = std::bit_cast<float>(0x7FC0BEEFU);
    special[2] = std::bit_cast<float>(0xFF800001U);  // signaling
    special[3] = std::numeric_limits<float>::infinity();
    special[4] = std::numeric_limits<float>::denorm_min();
  }

  void add(const std::string& path, const Shape& shape) {
    std::vector<float>& data = numbers[path];
    data.resize(static_cast<std::size_t>(shape.size()));
    for (std::size_t i = 0; i < data.size(); ++i) {
      data[i] = static_cast<float>(i) * 0.37F + static_cast<float>(path.size()) + static_cast<float>(snapshot.state.step);
    }
    snapshot.tensors.push_back({path, ElementType::f32, shape, data.data()});
  }
};

/// The text of the exception of type E that `act` throws; empty if it throws none.
template <class E, class Act>
std::string text_of(Act&& act) {
  try {
    act();
  } catch (const E& error) {
    return error.what();
  }
  return "";
}

inline std::string refusal(const std::filesystem::path& path) {
  return text_of<InputError>([&] { CheckpointFile::open(path); });
}

}  // namespace dikkat
