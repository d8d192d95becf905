#include <memory>

#include "train/cli/commands.h"
#include "train/cli/terminal/signals.h"
#include "train/cli/terminal/streams.h"
#include "train/web/http/loopback.h"
#include "train/web/report/page_server.h"
#include "train/web/report/run_view.h"

namespace dikkat {
namespace {

struct WatchArguments {
  std::vector<std::string> runs;
  PageServer::Address address;
};

int watch_command(const WatchArguments& arguments) {
  for (const std::string& path : arguments.runs) {
    read_history(path);  // throws InputError, with the reason, if it cannot be read
  }
  PageServer server({arguments.runs.begin(), arguments.runs.end()}, arguments.address);
  if (!is_loopback(arguments.address.host)) {
    warn("anyone who can reach this machine can now read the texts, configurations and samples of these runs");
  }
  stop_in_order();
  print_result(server.url() + '\n');
  flush_results();
  print_message("open it in a browser; Ctrl-C ends the page, but not the runs");
  server.serve(stop_requested);
  return 0;
}

}  // namespace

void add_watch(Commands& program) {
  constexpr const char* kExamples = R"(  dikkat watch runs/mine
  dikkat watch runs/mine runs/other --port 9000
From another machine: ssh -L 8717:localhost:8717 HOST dikkat watch RUN_DIR, then open
http://localhost:8717/ there.)";
  const auto a = std::make_shared<WatchArguments>();
  Command command = program.add("watch", "Show runs in a browser while they train, on a page that updates itself", kExamples,
                                [a] { return watch_command(*a); });
  command.texts("RUN_DIR", a->runs, "", "Run directories to show").required();
  command.number("--port", a->address.port, 1, 65535, "Port to listen on; by default the first free one from 8717");
  command.text("--address", a->address.host, "HOST",
               "Address to listen on; any other than the loopback address lets other machines see the runs");
}

}  // namespace dikkat
