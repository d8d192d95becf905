// A transport (DIKKAT_TRANSPORT) that passes everything to the one that DIKKAT_TORTURE_TRANSPORT names, and makes trouble on one rank.
// DIKKAT_TORTURE_FAULT describes it: "RANK WHEN ORDINAL EFFECT". WHEN is "message" (the n-th that the rank begins to send or to receive) or
// "gather" (the n-th wait for messages that all go to the first rank). EFFECT may be the number of a signal, which the rank sends itself,
// or "leave" (it exits with 3). With "cut" nothing arrives at this rank, or leaves it, from here on. With "late" each message takes up to
// 2 ms more. With DIKKAT_TORTURE_COUNTS each rank writes the numbers of both into FOLDER/RANK at its end.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <string>

#include <dlfcn.h>
#include <unistd.h>

#include "train/parallel/transport_table.h"

namespace {

using Clock = std::chrono::steady_clock;

const DikkatTransportTable* transport = nullptr;

struct Fault {
  int rank = -1;
  std::string when, effect;
  long ordinal = 0;
} fault;

long messages = 0, gathers = 0;
long to_first = 0, other = 0;  // begun since the last time that the rank waited
bool is_waiting = false, is_cut = false, is_late = false;
std::map<void*, Clock::time_point> due;
std::minstd_rand delays;

void strike() {
  if (fault.effect == "cut") {
    is_cut = true;
  } else if (fault.effect == "late") {
    is_late = true;
    delays.seed(static_cast<unsigned>(fault.ordinal + 1));
  } else if (fault.effect == "leave") {
    std::_Exit(3);
  } else {
    ::kill(::getpid(), std::atoi(fault.effect.c_str()));
  }
}

void reach(const char* what, long ordinal) {
  if (transport->rank() == fault.rank && what == fault.when && ordinal == fault.ordinal) {
    strike();
  }
}

/// The other ranks send a gather's messages, and the first one receives them.
void begin(bool may_be_gathered) {
  is_waiting = false;
  (may_be_gathered ? to_first : other) += 1;
  reach("message", ++messages);
}

void* kept(void* message) {
  if (is_late && message != nullptr) {
    due[message] = Clock::now() + std::chrono::microseconds(delays() % 2000);
  }
  return message;
}

int nowhere;  // the descriptor of a rank's messages after a cut

void* send(int to, const void* from, std::size_t bytes) {
  begin(to == 0);
  return is_cut ? &nowhere : kept(transport->send(to, from, bytes));
}

void* receive(int from, void* to, std::size_t bytes) {
  begin(transport->rank() == 0);
  return is_cut ? &nowhere : kept(transport->receive(from, to, bytes));
}

int done(void* message) {
  if (!is_waiting) {
    is_waiting = true;
    const bool is_gather = to_first > 0 && other == 0;
    to_first = other = 0;
    if (is_gather) {
      reach("gather", ++gathers);
    }
  }
  if (is_cut) {
    return 0;
  }
  if (const auto found = due.find(message); found != due.end()) {
    if (Clock::now() < found->second) {
      return 0;
    }
    if (transport->done(message) == 0) {
      return 0;
    }
    due.erase(found);
    return 1;
  }
  return transport->done(message);
}

void finish() {
  if (const char* folder = std::getenv("DIKKAT_TORTURE_COUNTS")) {
    const std::string path = std::string(folder) + '/' + std::to_string(transport->rank());
    if (std::FILE* file = std::fopen(path.c_str(), "w")) {
      std::fprintf(file, "%ld %ld\n", messages, gathers);
      std::fclose(file);
    }
  }
  transport->finish();
}

void read_fault() {
  const char* text = std::getenv("DIKKAT_TORTURE_FAULT");
  char when[16] = "", effect[16] = "";
  if (text != nullptr && std::sscanf(text, "%d %15s %ld %15s", &fault.rank, when, &fault.ordinal, effect) == 4) {
    fault.when = when;
    fault.effect = effect;
  }
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const DikkatTransportTable* dikkat_transport_table() {
  const char* path = std::getenv("DIKKAT_TORTURE_TRANSPORT");
  void* library = path == nullptr ? nullptr : ::dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  void* symbol = library == nullptr ? nullptr : ::dlsym(library, "dikkat_transport_table");
  if (symbol == nullptr) {
    std::fprintf(stderr, "the transport of DIKKAT_TORTURE_TRANSPORT cannot be loaded\n");
    std::abort();
  }
  transport = reinterpret_cast<const DikkatTransportTable* (*)()>(symbol)();
  read_fault();
  static DikkatTransportTable table = *transport;
  table.send = send;
  table.receive = receive;
  table.done = done;
  table.finish = finish;
  return &table;
}
