#pragma once

#include <cstddef>

/// What a plugin provides: an engine as C functions, one for each of Engine (engine.h). The program looks for the symbol
/// dikkat_engine_table.
extern "C" {

struct DikkatEngineTable {
  int version;  // kDikkatEngineVersion of the program that the plugin was built with
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

enum { kDikkatEngineVersion = 1 };

const DikkatEngineTable* dikkat_engine_table(void);
}
