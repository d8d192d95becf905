#include "train/parallel/launcher.h"

#include <map>

#include <gtest/gtest.h>

namespace dikkat {
namespace {

using Variables = std::map<std::string, const char*>;

std::function<const char*(const char*)> of(const Variables& variables) {
  return [&variables](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second;
  };
}

/// The name and size, such as "openmpi 2", or "" if there is no launcher.
std::string found(const Variables& variables) {
  const auto one = launcher(of(variables));
  return one ? one->mpi + " " + std::to_string(one->ranks) : "";
}

// These are the variables of Open MPI 4.1.4, MPICH 4.0.2 and Slurm 22.05.
TEST(Launcher, IsKnownByItsEnvironment) {
  EXPECT_EQ(found({}), "");
  EXPECT_EQ(found({{"OMPI_COMM_WORLD_SIZE", "2"}, {"PMIX_RANK", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}}), "openmpi 2")
      << "mpirun, within an allocation too";
  EXPECT_EQ(found({{"PMI_SIZE", "4"}, {"PMI_RANK", "1"}, {"SLURM_NTASKS", "2"}}), "mpich 4") << "mpirun of MPICH, and srun --mpi=pmi2";
  EXPECT_EQ(found({{"PMIX_RANK", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}}), "openmpi 2") << "srun --mpi=pmix";
  EXPECT_EQ(found({{"SLURM_STEP_NUM_TASKS", "2"}}), " 2") << "srun without --mpi: tasks that do not know each other";
}

TEST(Launcher, IsAbsentForOneProcess) {
  EXPECT_EQ(found({{"SLURM_NTASKS", "8"}}), "") << "a batch script";
  EXPECT_EQ(found({{"SLURM_STEP_NUM_TASKS", "1"}}), "") << "a shell in an allocation, and srun -n 1";
  EXPECT_EQ(found({{"OMPI_COMM_WORLD_SIZE", "1"}}), "");
  EXPECT_EQ(found({{"PMI_SIZE", "words"}}), "");
}

TEST(Launcher, NumbersTheProcesses) {
  EXPECT_EQ(rank_by_launcher(of({})), 0);
  EXPECT_EQ(rank_by_launcher(of({{"OMPI_COMM_WORLD_RANK", "3"}, {"SLURM_PROCID", "0"}})), 3);
  EXPECT_EQ(rank_by_launcher(of({{"PMI_RANK", "2"}})), 2);
  EXPECT_EQ(rank_by_launcher(of({{"SLURM_PROCID", "1"}})), 1);
  EXPECT_EQ(rank_on_host_by_launcher(of({})), 0);
  EXPECT_EQ(rank_on_host_by_launcher(of({{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}})), 1);
  EXPECT_EQ(rank_on_host_by_launcher(of({{"MPI_LOCALRANKID", "2"}})), 2);
}

}  // namespace
}  // namespace dikkat
