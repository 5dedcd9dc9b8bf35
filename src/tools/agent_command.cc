// `rain agent`: the agent of one server in a process of its own, beside its `rain worker`. Either may be restarted, in any
// order: what they share lies in the control block's file.
#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "base/stop_signals.h"
#include "tools/command.h"
#include "tools/input_error.h"
#include "tools/rack_file.h"
#include "tools/server_agent.h"
#include "tools/supervisor.h"

namespace rain::tools {
namespace {

struct AgentFlags {
  std::string config;
  std::string server;
};

int run(const AgentFlags& flags) {
  const RackFile rack = RackFile::read(flags.config);
  if (!rack.agent || !rack.agent->own_process) {
    throw InputError(rack.path +
                     ": [agent] with process = \"own\" is needed; otherwise `rain worker` runs the agent");
  }
  const ServerSection& server = rack.chosen_server(flags.server);
  const StopSignals signals;  // before any thread exists
  ServerAgent agent(rack, server, ServerAgent::Process::kAgent);
  agent.start(nullptr);
  std::fputs(fmt::format("{}agent of {}, policy {}, {} workers\n", kReadyPrefix, server.name,
                         agent::to_text(rack.agent->policy.kind), server.workers)
                 .c_str(),
             stderr);
  signals.wait();
  return kExitOk;
}

}  // namespace

Run declare_agent(CLI::App& app) {
  auto flags = std::make_shared<AgentFlags>();
  app.add_option("--config", flags->config, "the rack file")->required()->type_name("FILE");
  app.add_option("--server", flags->server, "which [[server]] of the file it is for")->type_name("NAME");
  return [flags] { return run(*flags); };
}

}  // namespace rain::tools
