#include "train/parallel/launcher.h"

#include <bit>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include <dlfcn.h>

#include "autograd/base/error.h"
#include "train/parallel/transport_table.h"

namespace dikkat {
namespace {

int number(const char* text) {
  int value = 0;
  if (text != nullptr) {
    std::from_chars(text, text + std::strlen(text), value);
  }
  return value;
}

constexpr const char* kNames[][2] = {{"openmpi", "Open MPI"}, {"mpich", "MPICH"}};

template <class... Parts>
void require_on_host(bool condition, const Parts&... parts) {
  if (!condition) {
    throw LaunchError(concat(parts...), LaunchError::Whose::host);
  }
}

class Plugin : public Transport {
 public:
  explicit Plugin(const std::filesystem::path& file) {
    // Open MPI loads components of its own, which look for its symbols among the global ones.
    void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
    require_on_host(library != nullptr, "the transport ", file.string(),
                    " cannot be loaded: ", library == nullptr ? ::dlerror() : "");  // NOLINT(concurrency-mt-unsafe)
    void* const symbol = ::dlsym(library, "dikkat_transport_table");
    require_on_host(symbol != nullptr, file.string(), " is not a transport of dikkat: it has no symbol dikkat_transport_table");
    table_ = reinterpret_cast<const DikkatTransportTable* (*)()>(symbol)();
    require_on_host(table_->version == kDikkatTransportVersion, file.string(), " has the interface version ", table_->version,
                    ", expected ", int{kDikkatTransportVersion}, ": build it together with this program");
    const char* const problem = table_->start();
    require_input(problem == nullptr, file.string(), ": ", problem == nullptr ? "" : problem);
  }
  ~Plugin() override { table_->finish(); }
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  int rank() const override { return table_->rank(); }
  int size() const override { return table_->size(); }
  std::string name() const override { return table_->name(); }
  std::string host() const override { return table_->host(); }
  Message send(int to, const void* from, std::size_t bytes) override { return table_->send(to, from, bytes); }
  Message receive(int from, void* to, std::size_t bytes) override { return table_->receive(from, to, bytes); }
  bool done(Message& message) override {
    if (message != nullptr && table_->done(message) != 0) {
      message = nullptr;
    }
    return message == nullptr;
  }
  [[noreturn]] void abort(int exit_code) override {
    table_->abort(exit_code);
    std::_Exit(exit_code);
  }

 private:
  const DikkatTransportTable* table_ = nullptr;
};

std::vector<std::filesystem::path> places_of(const std::string& mpi) {
  std::error_code unknown;
  const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe", unknown).parent_path();
  const std::string name = "dikkat-" + mpi + ".so";
  return {folder / name, folder / ".." / "lib" / "dikkat" / name};
}

std::filesystem::path plugin_for(const std::string& mpi) {
  const std::vector<std::filesystem::path> places = places_of(mpi);
  std::error_code unknown;
  for (const std::filesystem::path& place : places) {
    if (std::filesystem::exists(place, unknown)) {
      return place;
    }
  }
  throw LaunchError(
      concat("this program was built without ", mpi == "openmpi" ? "Open MPI" : "MPICH", " (", places.front().string(),
             " does not exist): install ", mpi == "openmpi" ? "libopenmpi-dev" : "libmpich-dev", " and build again, or start one process"),
      LaunchError::Whose::host);
}

/// Loads the plugin. A file that DIKKAT_TRANSPORT names may differ from process to process, so its errors belong to this process only.
std::unique_ptr<Plugin> load_plugin(const std::string& mpi) {
  const char* const chosen = std::getenv("DIKKAT_TRANSPORT");  // NOLINT(concurrency-mt-unsafe)
  if (chosen == nullptr || *chosen == '\0') {
    return std::make_unique<Plugin>(plugin_for(mpi));
  }
  try {
    return std::make_unique<Plugin>(chosen);
  } catch (const LaunchError& failure) {
    throw InputError(failure.what());
  }
}

/// Returns the number in the first of these variables that is set; 0 if none is.
int number_in(std::initializer_list<const char*> names, const std::function<const char*(const char*)>& variable) {
  for (const char* name : names) {
    if (const char* text = variable(name)) {
      return number(text);
    }
  }
  return 0;
}

}  // namespace

std::optional<Launcher> launcher(const std::function<const char*(const char*)>& variable) {
  const auto launched = [](const char* mpi, int ranks) { return ranks > 1 ? std::optional(Launcher{mpi, ranks}) : std::nullopt; };
  if (const char* ranks = variable("OMPI_COMM_WORLD_SIZE")) {
    return launched("openmpi", number(ranks));
  }
  if (const char* ranks = variable("PMI_SIZE")) {
    return launched("mpich", number(ranks));
  }
  // SLURM_NTASKS is also set in batch scripts, which are a single process.
  return launched(variable("PMIX_RANK") != nullptr ? "openmpi" : "", number(variable("SLURM_STEP_NUM_TASKS")));
}

int rank_by_launcher(const std::function<const char*(const char*)>& variable) {
  return number_in({"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"}, variable);
}

int rank_on_host_by_launcher(const std::function<const char*(const char*)>& variable) {
  return number_in({"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"}, variable);
}

std::vector<PluginFile> plugin_files() {
  std::vector<PluginFile> found;
  for (const auto& [mpi, name] : kNames) {
    for (const std::filesystem::path& place : places_of(mpi)) {
      std::error_code unknown;
      if ((found.empty() || found.back().mpi != name) && std::filesystem::exists(place, unknown)) {
        found.push_back({.mpi = name, .path = place});
      }
    }
  }
  return found;
}

std::unique_ptr<Transport> connect_ranks() {
  const auto found = launcher([](const char* name) -> const char* { return std::getenv(name); });  // NOLINT(concurrency-mt-unsafe)
  if (!found) {
    return nullptr;
  }
  const auto fail_unconnected = [&] {
    throw LaunchError(
        concat("srun started ", found->ranks,
               " tasks, and MPI connects none of them: use srun --mpi=pmix, or mpirun inside the allocation; for one process, srun -n 1"));
  };
  if (found->mpi.empty()) {
    fail_unconnected();
  }
  if (!std::has_single_bit(static_cast<unsigned>(found->ranks))) {
    throw LaunchError(concat(found->ranks, " ranks were started, expected 2, 4, 8 ...: ranks add gradients in pairs"));
  }
  auto transport = load_plugin(found->mpi);
  if (transport->size() == 1) {
    fail_unconnected();
  }
  require_input(transport->size() == found->ranks, "the launcher started ", found->ranks, " ranks, but ", transport->name(), " connects ",
                transport->size());
  return transport;
}

}  // namespace dikkat
