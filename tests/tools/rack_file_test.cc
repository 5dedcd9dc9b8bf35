// Tests of rack_file.h and load_section.h: defaults, completion, and every refusal with its place.
#include "tools/rack_file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/endpoint_text.h"
#include "tools/input_error.h"
#include "tools/run_rain.h"

namespace rain::tools {
namespace {

using ::testing::HasSubstr;

RackFile read(const std::string& text) {
  const testing::ScratchFile file("rack.toml", text);
  return RackFile::read(file.path());
}

/// The refusal without the folder: "rack.toml:3: ...".
std::string refusal(const std::string& text) {
  const testing::ScratchFile file("rack.toml", text);
  try {
    RackFile::read(file.path());
    return "";
  } catch (const InputError& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.find(file.folder().string() + "/"), 0u) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    return message.substr(file.folder().string().size() + 1);
  }
}

TEST(RackFile, read__smallest_rack) {
  const RackFile rack = read("[[server]]\n");
  EXPECT_EQ(format_endpoint(rack.in_switch.listen), "127.0.0.1:9000");
  EXPECT_EQ(rack.in_switch.program, "rain");
  ASSERT_EQ(rack.in_switch.slices.size(), 1u);
  EXPECT_EQ(rack.in_switch.slices[0].name, "default");
  EXPECT_TRUE(rack.in_switch.slices[0].task_types.empty());
  EXPECT_EQ(rack.in_switch.slices[0].queue_capacity, 131072u);
  EXPECT_EQ(rack.in_switch.slices[0].drain, 4u);
  ASSERT_EQ(rack.in_switch.workers.size(), 1u);
  EXPECT_EQ(rack.in_switch.workers[0].address, rack.servers.at(0).endpoint(0));
  ASSERT_EQ(rack.servers.size(), 1u);
  EXPECT_EQ(rack.servers[0].name, "server-0");
  EXPECT_EQ(rack.servers[0].app, "echo");
  EXPECT_EQ(rack.servers[0].quota, 4u);
  EXPECT_EQ(format_endpoint(rack.servers[0].endpoint(0)), "127.0.0.1:9100");
  EXPECT_FALSE(rack.load.has_value());
}

TEST(RackFile, read__a_master_has_a_slice_of_its_own_in_the_switch) {
  const RackFile rack = read(R"(
[[slice]]
name = "reads"
queue_capacity = 7
[[server]]
name = "a"
workers = 2
slice = "reads"
[[server]]
name = "b"
master = true
slice = "reads"
)");
  ASSERT_EQ(rack.in_switch.slices.size(), 2u);
  const softswitch::SwitchSlice& sticky = rack.in_switch.slices[1];
  EXPECT_EQ(sticky.name, "reads (master)");
  EXPECT_EQ(sticky.host, SliceId{0});
  EXPECT_EQ(sticky.queue_capacity, 7u);
  EXPECT_FALSE(sticky.takes_other_types());
  ASSERT_EQ(rack.in_switch.workers.size(), 3u);
  EXPECT_EQ(rack.in_switch.workers[1].slice, SliceId{0});
  EXPECT_EQ(rack.in_switch.workers[2].slice, sticky.id);
}

TEST(RackFile, read__every_key) {
  const RackFile rack = read(R"(
[switch]
listen = "[::1]:7000"
scheduler = "rain-paper"
busy_poll = true
hold_slots = 64
receive_buffer = "1MiB"
send_buffer = "2MiB"
kernel_busy_poll = "50us"
drain_limit = "2s"
seed = 9
[[slice]]
name = "short"
types = [0, 1]
queue_capacity = 1024
spill = 3
drain = 0
recirculate = true
group = 1
[[slice]]
name = "long"
[[server]]
name = "a"
address = "::1"
port = 7100
workers = 2
first_id = 10
slice = "short"
quota = 2
token_key = 0xdeadbeef
app = "rocksdb"
busy_poll = true
sync_interval = "50ms"
weight = 3
rocksdb_directory = "/tmp/a"
rocksdb_small_keys = 1000
rocksdb_large_keys = 100
[[server]]
address = "::1"
slice = "long"
app = "synthetic"
emulate = true
workers = 32
synthetic_limit = "2s"
[load]
app = "synthetic"
rate = "80%"
duration = "2s"
warmup = "0"
timeout = "500ms"
seed = 3
connections = 5
arrivals = "constant"
busy_poll = true
classes = "s@0:0.9:const:10us,l@7:0.1:exp:1ms"
)");
  EXPECT_EQ(format_endpoint(rack.in_switch.listen), "[::1]:7000");
  EXPECT_EQ(rack.in_switch.hold_slots, 64u);
  EXPECT_EQ(rack.in_switch.receive_buffer_bytes, 1u << 20);
  EXPECT_EQ(rack.in_switch.seed, 9u);
  EXPECT_EQ(rack.in_switch.send_buffer_bytes, 2u << 20);
  EXPECT_EQ(rack.in_switch.kernel_busy_poll, microseconds(50));
  EXPECT_EQ(rack.in_switch.drain_limit, seconds(2));
  EXPECT_EQ(rack.in_switch.quota, 4u);  // the largest of the servers'
  EXPECT_EQ(rack.in_switch.slices[0].task_types, (std::vector<TaskType>{{0}, {1}}));
  EXPECT_TRUE(rack.in_switch.slices[0].recirculate);
  EXPECT_EQ(rack.in_switch.spill_of(rack.in_switch.slices[0]), 3u);
  EXPECT_EQ(rack.in_switch.group_count(), 2u);
  const ServerSection& a = rack.server_named("a");
  EXPECT_EQ(format_endpoint(a.endpoint(1)), "[::1]:7101");
  EXPECT_EQ(a.first_id, WorkerId{10});
  EXPECT_EQ(a.token_key, 0xdeadbeefu);
  EXPECT_EQ(a.sync_interval, milliseconds(50));
  EXPECT_EQ(a.app_options.rocksdb_directory, "/tmp/a");
  EXPECT_EQ(a.app_options.rocksdb_small_keys, 1000u);
  EXPECT_EQ(a.app_options.rocksdb_large_keys, 100u);
  const ServerSection& b = rack.servers[1];
  EXPECT_EQ(b.first_id, WorkerId{12});
  EXPECT_EQ(b.slice, SliceId{1});
  EXPECT_EQ(b.endpoint(0), b.endpoint(31));
  ASSERT_TRUE(rack.load.has_value());
  EXPECT_EQ(rack.load->rate.capacity_share, 0.8);
  EXPECT_EQ(rack.load->warmup, Nanos{});
  EXPECT_EQ(rack.load->classes[1].type, TaskType{7});
  EXPECT_EQ(rack.worker_count(), 34u);
  EXPECT_EQ(rack.in_switch.workers_of(SliceId{1}), 32u);
  EXPECT_EQ(rack.in_switch.workers[1].token_key, 0xdeadbeefu);
  EXPECT_EQ(rack.in_switch.workers[1].weight, 3u);
  EXPECT_EQ(rack.in_switch.workers[33].id, WorkerId{43});
  EXPECT_EQ(b.app_options.synthetic_limit, seconds(2));
}

TEST(RackFile, read__ids_and_ports_follow_on) {
  const RackFile rack = read(R"(
[[server]]
workers = 3
[[server]]
workers = 2
[[server]]
address = "127.0.0.2"
[[server]]
)");
  EXPECT_EQ(rack.servers[1].first_id, WorkerId{3});
  EXPECT_EQ(rack.servers[1].port, 9103);
  EXPECT_EQ(rack.servers[2].port, 9100);
  EXPECT_EQ(rack.servers[3].first_id, WorkerId{6});
  EXPECT_EQ(rack.servers[3].port, 9105);
}

TEST(RackFile, read__spill_defaults_to_a_quarter_of_the_workers) {
  const auto spill = [](const std::string& text) {
    const RackFile rack = read(text);
    return rack.in_switch.spill_of(rack.in_switch.slices.at(0));
  };
  EXPECT_EQ(spill("[[server]]\nworkers = 32\n"), 8u);
  EXPECT_EQ(spill("[[server]]\nworkers = 3\n"), 0u);
}

TEST(RackFile, workers_at_once__no_more_than_cores_unless_emulated) {
  const RackFile rack =
      read("[[server]]\nworkers = 4\n[[server]]\nworkers = 32\napp = 'synthetic'\nemulate = true\n");
  EXPECT_EQ(rack.workers_at_once(2), 34u);
  EXPECT_EQ(rack.workers_at_once(64), 36u);
}

TEST(RackFile, effective_quota__unbounded_without_tokens) {
  const RackFile with = read("[[server]]\nquota = 2\n");
  EXPECT_EQ(with.effective_quota(with.servers[0]), 2u);
  const RackFile without = read("[switch]\nscheduler = 'jsq'\n[[server]]\nquota = 2\n");
  EXPECT_EQ(without.effective_quota(without.servers[0]), 0u);
}

TEST(RackFile, load__defaults_of_each_application) {
  EXPECT_EQ(read("[[server]]\n[load]\n").load->classes.at(0).name, "echo");
  const RackFile rocksdb = read("[[server]]\napp = 'rocksdb'\n[load]\n");
  EXPECT_EQ(rocksdb.load->app, "rocksdb");
  EXPECT_EQ(rocksdb.load->classes.at(0).name, "get");
  EXPECT_FALSE(rocksdb.load->mean_service_ns().has_value());
  const RackFile synthetic =
      read("[[server]]\napp = 'synthetic'\n[load]\nservice = 'bimodal:0.5:1ms:10ms'\n");
  EXPECT_DOUBLE_EQ(synthetic.load->mean_service_ns().value(), 5.5e6);
  const RackFile plain = read("[[server]]\napp = 'synthetic'\n[load]\nservice = '10us'\n");
  EXPECT_DOUBLE_EQ(plain.load->mean_service_ns().value(), 1e4);
}

struct Refused {
  const char* text;
  const char* message;
};

constexpr Refused kRefused[] = {
    // The file as a whole.
    {"", "rack.toml:1: the file: there is no [[server]]; a rack has at least one"},
    {"[[server]]\n[lod]\nrate = 1\n",
     "rack.toml:2: key 'lod' = a table: unknown in the file, allowed are agent, controller, load, "
     "server, slice, switch; did you mean 'load'?"},
    {"server = 3\n", "rack.toml:1: key 'server' = 3: tables, each written as [[server]]"},
    {"[[server]]\n[switch\n", "rack.toml:2: not TOML: "},
    // [switch]
    {"[switch]\nlisten = '127.0.0.1'\n[[server]]\n",
     "rack.toml:2: key 'listen' = \"127.0.0.1\": an address that clients and workers reach, such as "
     "\"10.0.0.1:9000\" or \"[::1]:9000\""},
    {"[switch]\nlisten = '0.0.0.0:9000'\n[[server]]\n",
     "rack.toml:2: key 'listen' = \"0.0.0.0:9000\": an address that clients and workers reach"},
    {"[[server]]\naddress = '224.0.0.1'\n", "rack.toml:2: key 'address' = \"224.0.0.1\": a numeric IPv4"},
    {"[[server]]\naddress = '255.255.255.255'\n",
     "rack.toml:2: key 'address' = \"255.255.255.255\": a numeric"},
    {"[[server]]\naddress = 'ff02::1'\n", "rack.toml:2: key 'address' = \"ff02::1\": a numeric"},
    {"[switch]\nlisten = '[::1]:9000'\n[[server]]\n",
     "rack.toml: worker 0: address = 127.0.0.1:9100: an IPv6 address is needed, as the switch listens on "
     "[::1]:9000"},
    {"[[server]]\naddress = '::'\n", "rack.toml:2: key 'address' = \"::\": a numeric IPv4 or IPv6 address"},
    {"[switch]\nlisten = '127.0.0.1:0'\n[[server]]\n",
     "rack.toml:2: key 'listen' = \"127.0.0.1:0\": an address"},
    {"[switch]\nlisten = 'localhost:9000'\n[[server]]\n",
     "rack.toml:2: key 'listen' = \"localhost:9000\": an addr"},
    {"[switch]\nscheduler = 'rian'\n[[server]]\n",
     "rack.toml:2: key 'scheduler' = \"rian\": one of rain, rain-paper, racksched, pallas, random, "
     "round-robin, jsq; "
     "did you mean 'rain'?"},
    {"[switch]\nhold_slots = -1\n[[server]]\n",
     "rack.toml:2: key 'hold_slots' = -1: an integer from 0 to 1048576"},
    {"[switch]\nreceive_buffer = '2GiB'\n[[server]]\n",
     "rack.toml:2: key 'receive_buffer' = \"2GiB\": bytes"},
    {"[switch]\nsend_buffer = '2GiB'\n[[server]]\n", "rack.toml:2: key 'send_buffer' = \"2GiB\": bytes"},
    {"[switch]\nkernel_busy_poll = '2s'\n[[server]]\n",
     "rack.toml:2: key 'kernel_busy_poll' = \"2s\": a time"},
    {"[switch]\ndrain_limit = 5\n[[server]]\n", "rack.toml:2: key 'drain_limit' = 5: a time with its unit"},
    {"[[server]]\naddress = '::1'\n",
     "rack.toml: worker 0: address = [::1]:9100: an IPv4 address is needed, as the switch listens on "
     "127.0.0.1:9000"},
    {"[switch]\nseed = 'x'\n[[server]]\n", "rack.toml:2: key 'seed' = \"x\": an integer from 0 to"},
    {"[switch]\nbusy_poll = 1\n[[server]]\n", "rack.toml:2: key 'busy_poll' = 1: true or false"},
    {"[switch]\nshceduler = 'rain'\n[[server]]\n",
     "rack.toml:2: key 'shceduler' = \"rain\": unknown in [switch]"},
    // [[slice]]
    {"[[slice]]\n[[server]]\n", "rack.toml:1: key 'name' is missing: a name of 1 to 64 bytes, UTF-8 without"},
    {"[[slice]]\nname = 's'\ntypes = [65536]\n[[server]]\n",
     "rack.toml:3: key 'types' = [ 65536 ]: integers from 0 to 65535"},
    {"[[slice]]\nname = 's'\nqueue_capacity = 0\n[[server]]\n",
     "rack.toml:3: key 'queue_capacity' = 0: an integer from 1 to 1048576, tasks"},
    {"[[slice]]\nname = 's'\nqueue_capacity = 10\nspill = 11\n[[server]]\n",
     "rack.toml:4: key 'spill' = 11: an integer from 0 to 10"},
    {"[[slice]]\nname = 's'\ndrain = 70000\n[[server]]\n",
     "rack.toml:3: key 'drain' = 70000: an integer from 0 to"},
    {"[[slice]]\nname = 's'\ngroup = 16\n[[server]]\n",
     "rack.toml:3: key 'group' = 16: an integer from 0 to 15"},
    {"[[slice]]\nname = 's'\ngroup = 1\n[[server]]\n",
     "rack.toml: group = 0: no slice has it; groups are numbered from 0 to 1"},
    {"[[slice]]\nname = 's'\n[[slice]]\nname = 's'\ntypes = 1\n[[server]]\nslice = 's'\n",
     "rack.toml:3: slice \"s\": name: another slice has it; names differ"},
    {"[[slice]]\nname = 's'\n[[slice]]\nname = 't'\n[[server]]\nslice = 's'\n[[server]]\nslice = 't'\n",
     "rack.toml:3: slice \"t\": types is empty: slice \"s\" takes all other types already"},
    {"[[slice]]\nname = 's'\ntypes = [1]\n[[slice]]\nname = 't'\ntypes = [2, 1]\n[[server]]\nslice = 's'\n"
     "[[server]]\nslice = 't'\n",
     "rack.toml:4: slice \"t\": types = 1: slice \"s\" has it"},
    {"[[slice]]\nname = 's'\ntypes = [1]\n[[slice]]\nname = 't'\n[[server]]\nslice = 's'\n",
     "rack.toml:4: slice \"t\" has no workers: a [[server]] must name it"},
    {"[[server]]\nmaster = true\nworkers = 2\n",
     "rack.toml:2: key 'master' = true: true only with workers = 1: a slice has one master"},
    {"[[server]]\nname = 'a'\nmaster = true\n[[server]]\nmaster = true\n",
     "rack.toml:5: key 'master' = true: \"a\" is the master of its slice"},
    {"[switch]\nmax_slices = 1\n[[server]]\n[[server]]\nmaster = true\n",
     "rack.toml:5: key 'master' = true: there is room for 1 slices, and one with a master counts as two"},
    {"[[slice]]\nname = \"\\u001b[2J\"\n[[server]]\n",
     "rack.toml:2: key 'name' = \" [2J\": a name of 1 to 64 bytes, UTF-8 without control characters"},
    // [[server]]
    {"[[server]]\nname = \"a\\nb\"\n",
     "rack.toml:2: key 'name' = \"a b\": a name of 1 to 64 bytes, UTF-8 without control characters"},
    {"[[server]]\nname = 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'\n",
     "aaa...: a name of 1 to 64 bytes, UTF-8 without control characters"},
    {"[[server]]\nname = 'a'\n[[server]]\nname = 'a'\n",
     "rack.toml:4: key 'name' = \"a\": another server has this name"},
    {"[[server]]\naddress = 'localhost'\n",
     "rack.toml:2: key 'address' = \"localhost\": a numeric IPv4 or IPv6"},
    {"[[server]]\nport = 0\n", "rack.toml:2: key 'port' = 0: an integer from 1 to 65535"},
    {"[[server]]\nport = 65535\nworkers = 2\n",
     "rack.toml:2: key 'port' = 65535: 2 workers need as many ports, and 65535 is the last"},
    {"[[server]]\nport = 9000\n",
     "rack.toml:2: key 'port' = 9000: port 9000 of 127.0.0.1 belongs to the switch"},
    {"[[server]]\nname = 'a'\nport = 9200\nworkers = 3\n[[server]]\nport = 9202\n",
     "rack.toml:6: key 'port' = 9202: port 9202 of 127.0.0.1 belongs to \"a\""},
    {"[[server]]\nworkers = 0\n", "rack.toml:2: key 'workers' = 0: an integer from 1 to 1024"},
    {"[[server]]\nfirst_id = 1000\nworkers = 25\n",
     "rack.toml:2: worker ids 1000 to 1024 of \"server-0\": ids are 0"},
    {"[[server]]\nname = 'a'\nworkers = 4\n[[server]]\nfirst_id = 3\n",
     "rack.toml:5: key 'first_id' = 3: worker id 3 belongs to \"a\""},
    {"[[server]]\nslice = 'none'\n", "rack.toml:2: key 'slice' = \"none\": the name of a [[slice]]: default"},
    {"[[slice]]\nname = 'short'\ntypes = 0\n[[slice]]\nname = 'long'\n[[server]]\nslice = 'shrot'\n",
     "rack.toml:7: key 'slice' = \"shrot\": the name of a [[slice]]: short, long; did you mean 'short'?"},
    {"[[slice]]\nname = 's'\ntypes = 0\n[[slice]]\nname = 't'\n[[server]]\n",
     "rack.toml:6: key 'slice' is missing: the name of a [[slice]], as there are several"},
    {"[[server]]\nquota = 9\n", "rack.toml:2: key 'quota' = 9: an integer from 1 to 8"},
    {"[[server]]\nquota = 0\n", "rack.toml:2: key 'quota' = 0: an integer from 1 to 8"},
    {"[[server]]\ntoken_key = 4294967296\n",
     "rack.toml:2: key 'token_key' = 4294967296: an integer from 0 to"},
    {"[[server]]\napp = 'redis'\n", "rack.toml:2: key 'app' = \"redis\": one of echo, synthetic, rocksdb"},
    {"[[server]]\nemulate = true\n", "rack.toml:2: key 'emulate' = true: true only with app = synthetic"},
    {"[[server]]\nsync_interval = '1us'\n",
     "rack.toml:2: key 'sync_interval' = \"1us\": a time with its unit"},
    {"[[server]]\nweight = 9\n", "rack.toml:2: key 'weight' = 9: an integer from 1 to 8"},
    {"[[server]]\nrocksdb_directory = '/x'\n",
     "rack.toml:2: key 'rocksdb_directory' = \"/x\": only with app = rocksdb"},
    {"[[server]]\napp = 'rocksdb'\nrocksdb_small_keys = 0\n",
     "rack.toml:3: key 'rocksdb_small_keys' = 0: an integer from 1 to 100000000"},
    {"[[server]]\napp = 'rocksdb'\nrocksdb_large_keys = -1\n",
     "rack.toml:3: key 'rocksdb_large_keys' = -1: an"},
    {"[[server]]\napp = 'rocksdb'\nsynthetic_limit = '1s'\n",
     "rack.toml:3: key 'synthetic_limit' = \"1s\": only with app = synthetic"},
    {"[[server]]\napp = 'synthetic'\nsynthetic_limit = '1ns'\n",
     "rack.toml:3: key 'synthetic_limit' = \"1ns\": a time with its unit"},
    {"[[server]]\nworker = 4\n", "rack.toml:2: key 'worker' = 4: unknown in [[server]]"},
    // [load]
    {"[[server]]\n[load]\nrate = 0\n", "rack.toml:3: key 'rate' = 0: requests a second from 0.1 to 10M"},
    {"[[server]]\n[load]\nrate = '300%'\n",
     "rack.toml:3: key 'rate' = \"300%\": requests a second from 0.1 to 10M"},
    {"[[server]]\napp = 'synthetic'\n[load]\nrate = '80%'\nservice = 'const:0ns'\n",
     "rack.toml:4: key 'rate' = \"80%\": requests a second, as a share of capacity needs service times above "
     "0"},
    {"[[server]]\n[load]\nrate = 'fast'\n", "rack.toml:3: key 'rate' = \"fast\": requests a second"},
    {"[[server]]\n[load]\nduration = '0'\n", "rack.toml:3: key 'duration' = \"0\": a time with its unit"},
    {"[[server]]\n[load]\ntimeout = '2min'\n", "rack.toml:3: key 'timeout' = \"2min\": a time with its unit"},
    {"[[server]]\n[load]\nconnections = 0\n", "rack.toml:3: key 'connections' = 0: an integer from 1 to 64"},
    {"[[server]]\n[load]\narrivals = 'bursty'\n", "rack.toml:3: key 'arrivals' = \"bursty\": "},
    {"[[server]]\n[load]\nclasses = 'a:0.5:const:1'\n", "rack.toml:3: key 'classes' = \"a:0.5:const:1\": "},
    {"[[server]]\n[load]\nservice = '10us'\n",
     "rack.toml:3: key 'service' = \"10us\": only with app = synthetic"},
    {"[[server]]\napp = 'synthetic'\n[load]\nservice = 'exp:10'\n",
     "rack.toml:4: key 'service' = \"exp:10\": "},
    {"[[server]]\napp = 'synthetic'\n[load]\nservice = '1us'\nclasses = 'a:1:const:1us'\n",
     "rack.toml:4: key 'service' = \"1us\": not together with classes"},
    {"[[server]]\napp = 'rocksdb'\n[load]\nclasses = 'put:1:const:1'\n",
     "rack.toml:4: key 'classes' = \"put:1:const:1\": rocksdb: class \"put\" (allowed: names that begin "
     "with get or scan)"},
    {"[[slice]]\nname = 's'\ntypes = [3]\n[[server]]\n[load]\n",
     "rack.toml:5: class \"echo\" has type 0, which no slice serves"},
    {"[[server]]\n[load]\nratte = 5\n", "rack.toml:3: key 'ratte' = 5: unknown in [load]"},
};

TEST(RackFile, read__refusals) {
  for (const Refused& refused : kRefused) {
    EXPECT_THAT(refusal(refused.text), HasSubstr(refused.message)) << refused.text;
  }
}

/// A slice of each type from 0 on, the first `masters` of them with a worker and a master, the others with a worker.
std::string slices_with_masters(unsigned slices, unsigned masters) {
  std::string text;
  const auto server = [&text](unsigned slice, const char* more) {
    text += fmt::format("[[server]]\nslice = 's{}'\n{}", slice, more);
  };
  for (unsigned i = 0; i < slices; ++i) text += fmt::format("[[slice]]\nname = 's{0}'\ntypes = {0}\n", i);
  for (unsigned i = 0; i < slices; ++i) server(i, "");
  for (unsigned i = 0; i < masters; ++i) server(i, "master = true\n");
  return text;
}

TEST(RackFile, read__a_slice_with_a_master_takes_two_places) {
  EXPECT_EQ(read(slices_with_masters(40, 24)).in_switch.slices.size(), 64u);
  EXPECT_THAT(
      refusal(slices_with_masters(40, 25)),
      HasSubstr("rack.toml:275: key 'master' = true: there is room for 64 slices, and one with a master "
                "counts as two"));
}

TEST(RackFile, read__a_slice_may_be_called_like_a_masters) {
  const RackFile rack = read(
      "[[slice]]\nname = 's'\ntypes = 1\n[[slice]]\nname = 's (master)'\n[[server]]\nslice = 's'\n"
      "[[server]]\nslice = 's'\nmaster = true\n[[server]]\nslice = 's (master)'\n");
  EXPECT_EQ(rack.in_switch.slices.size(), 3u);
}

TEST(RackFile, server_named__lists_the_names) {
  const RackFile rack = read("[[server]]\nname = 'kv-0'\n[[server]]\nname = 'kv-1'\n");
  EXPECT_EQ(rack.server_named("kv-1").port, 9101);
  try {
    rack.server_named("kv1");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("kv-0, kv-1; did you mean 'kv-1'?"));
  }
}

TEST(RackFile, set_scheduler__only_those_on_sockets) {
  RackFile rack = read("[[server]]\n");
  rack.set_scheduler("jsq");
  EXPECT_EQ(rack.in_switch.program, "jsq");
  try {
    rack.set_scheduler("draconis");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(
        error.what(),
        "--scheduler = draconis: one of rain, rain-paper, racksched, pallas, random, round-robin, jsq");
  }
}

}  // namespace
}  // namespace rain::tools
