// The transport over MPI. It is built once for each MPI, against its mpi.h, and loaded only if a launcher has started several ranks.
#include <cstdlib>

#include <mpi.h>

#include "train/parallel/transport_table.h"

namespace {

constexpr int kTag = 1;

const char* start() {
  int provided = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided) != MPI_SUCCESS) {
    return "MPI_Init_thread failed";
  }
  return provided < MPI_THREAD_SERIALIZED ? "it does not allow another thread to communicate (MPI_THREAD_SERIALIZED)" : nullptr;
}

int rank() {
  int number = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &number);
  return number;
}

int size() {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  return ranks;
}

/// Returns MPI's name and version. Drops the rest of MPICH's string, which describes its build.
const char* name() {
  static char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(text, &length);
  for (char* at = text; *at != '\0'; ++at) {
    if (*at == '\n' || *at == ',') {
      *at = '\0';
      break;
    }
    if (*at == '\t') {
      *at = ' ';
    }
  }
  return text;
}

const char* host() {
  static char text[MPI_MAX_PROCESSOR_NAME] = "";
  int length = 0;
  MPI_Get_processor_name(text, &length);
  return text;
}

void* send(int to, const void* from, std::size_t bytes) {
  auto* request = new MPI_Request;
  MPI_Isend(from, static_cast<int>(bytes), MPI_BYTE, to, kTag, MPI_COMM_WORLD, request);
  return request;
}

void* receive(int from, void* to, std::size_t bytes) {
  auto* request = new MPI_Request;
  MPI_Irecv(to, static_cast<int>(bytes), MPI_BYTE, from, kTag, MPI_COMM_WORLD, request);
  return request;
}

int done(void* message) {
  auto* request = static_cast<MPI_Request*>(message);
  int is_done = 0;
  MPI_Test(request, &is_done, MPI_STATUS_IGNORE);
  if (is_done != 0) {
    delete request;
  }
  return is_done;
}

void abort_all(int exit_code) {
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  std::_Exit(exit_code);
}

void finish() { MPI_Finalize(); }

constexpr DikkatTransportTable kTable{.version = kDikkatTransportVersion,
                                      .start = start,
                                      .rank = rank,
                                      .size = size,
                                      .name = name,
                                      .host = host,
                                      .send = send,
                                      .receive = receive,
                                      .done = done,
                                      .abort = abort_all,
                                      .finish = finish};

}  // namespace

extern "C" __attribute__((visibility("default"))) const DikkatTransportTable* dikkat_transport_table() { return &kTable; }
