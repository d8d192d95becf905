#pragma once

#include <cstddef>

/// A plugin provides this table: one C function for each function of Transport (transport.h). The program looks for the symbol
/// dikkat_transport_table.
extern "C" {

struct DikkatTransportTable {
  int version;  // kDikkatTransportVersion when the plugin was built
  /// Connects the ranks. Returns null, or why that is not possible.
  const char* (*start)(void);
  int (*rank)(void);
  int (*size)(void);
  const char* (*name)(void);
  const char* (*host)(void);
  void* (*send)(int to, const void* from, std::size_t bytes);
  void* (*receive)(int from, void* to, std::size_t bytes);
  int (*done)(void* message);  // frees the message if it returns 1
  void (*abort)(int exit_code);
  void (*finish)(void);
};

enum { kDikkatTransportVersion = 1 };

const DikkatTransportTable* dikkat_transport_table(void);
}
