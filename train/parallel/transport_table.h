#pragma once

#include <cstddef>

/// What a plugin provides: a transport as C functions, one for each of Transport (transport.h). The program looks for the symbol
/// dikkat_transport_table.
extern "C" {

struct DikkatTransportTable {
  int version;  // kDikkatTransportVersion of the program that the plugin was built with
  /// Connects the ranks. Returns null, or why it cannot.
  const char* (*start)(void);
  int (*rank)(void);
  int (*size)(void);
  const char* (*name)(void);
  const char* (*host)(void);
  void* (*send)(int to, const void* from, std::size_t bytes);
  void* (*receive)(int from, void* to, std::size_t bytes);
  int (*done)(void* message);  // and then the message is gone
  void (*abort)(int exit_code);
  void (*finish)(void);
};

enum { kDikkatTransportVersion = 1 };

const DikkatTransportTable* dikkat_transport_table(void);
}
