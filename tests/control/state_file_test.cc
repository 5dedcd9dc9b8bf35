#include "control/rpc/state_file.h"

#include <sys/stat.h>

#include "control/registry_fixture.h"
#include "control/temporary_folder.h"

namespace rain::control {
namespace {

using ::testing::HasSubstr;
using testing::RegistryTest;
using testing::server;
using testing::TemporaryFolder;
using testing::worker;

class StateFile : public RegistryTest {
 protected:
  SavedState some_state() {
    enter(server("s", {worker(0), worker(1)}));
    EXPECT_TRUE(registry_.remove({1}, false));
    SlicePatch patch;
    patch.spill = 3;
    EXPECT_TRUE(registry_.set_slice("a", patch));
    EXPECT_TRUE(registry_.set_master("a", {0}));
    return {registry_.state(), {{"client", 7}}};
  }
  std::string refusal(const std::string& content) {
    const auto read = read_state_file(folder_.write("state", content));
    return read ? "" : read.error();
  }

  TemporaryFolder folder_;
};

TEST_F(StateFile, read_state_file__is_what_was_written) {
  const SavedState state = some_state();
  ASSERT_EQ(write_state_file(folder_.file("state"), state), "");
  const auto read = read_state_file(folder_.file("state"));
  ASSERT_TRUE(read && *read) << read.error();
  EXPECT_EQ((*read)->registry.instance, state.registry.instance);
  EXPECT_EQ((*read)->registry.version, state.registry.version);
  EXPECT_EQ((*read)->registry.slices, state.registry.slices);
  EXPECT_EQ((*read)->registry.types, state.registry.types);
  EXPECT_EQ((*read)->registry.workers, state.registry.workers);
  ASSERT_EQ((*read)->registry.servers.size(), 1u);
  EXPECT_EQ((*read)->registry.servers[0].incarnation, 1u);
  EXPECT_EQ((*read)->client_weights, state.client_weights);
}

TEST_F(StateFile, read_state_file__there_is_none) {
  const auto read = read_state_file(folder_.file("state"));
  ASSERT_TRUE(read);
  EXPECT_FALSE(read->has_value());
}

TEST_F(StateFile, read_state_file__what_no_controller_writes__is_refused) {
  EXPECT_THAT(refusal("hello"), HasSubstr("state: is not a controller's state: it is no JSON of that shape"));
  EXPECT_THAT(refusal(""), HasSubstr("it is no JSON"));
  EXPECT_THAT(refusal("{}"), HasSubstr("format 0: this controller reads format 1"));
  EXPECT_THAT(refusal(R"({"format": 2})"), HasSubstr("format 2: this controller reads format 1"));
  EXPECT_THAT(refusal(R"({"format": 1, "workers": [{"row": {"id": 70000}}]})"),
              HasSubstr("worker id 70000: 0 to 65535"));
  EXPECT_THAT(refusal(R"({"format": 1, "workers": [{"row": {"id": 7, "address": "x"}}]})"),
              HasSubstr("address \"x\""));
  EXPECT_THAT(refusal(R"({"format": 1, "clientWeights": {"c": 0}})"), HasSubstr("weight 0: 1 to 1000"));
}

TEST_F(StateFile, write_state_file__only_its_owner_may_read_it) {
  ASSERT_EQ(write_state_file(folder_.file("state"), some_state()), "");
  struct stat status {};
  ASSERT_EQ(stat(folder_.file("state").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0600u);
}

TEST_F(StateFile, write_state_file__failed__the_old_one_is_whole) {
  const SavedState state = some_state();
  ASSERT_EQ(write_state_file(folder_.file("state"), state), "");
  const std::string before = folder_.read("state");
  std::filesystem::create_directory(folder_.file("state.new"));  // where the new one would be made
  EXPECT_THAT(write_state_file(folder_.file("state"), {}), HasSubstr("state.new: cannot be made"));
  EXPECT_EQ(folder_.read("state"), before);
  EXPECT_THAT(write_state_file(folder_.file("none/state"), state), HasSubstr("cannot be made: No such file"));
}

TEST_F(StateFile, state_file_problem__is_where_a_file_can_be_made) {
  EXPECT_EQ(state_file_problem(folder_.file("state")), "");
  EXPECT_TRUE(std::filesystem::is_empty(folder_.file(""))) << "nothing is left behind";
  EXPECT_EQ(state_file_problem(folder_.file("none/state")),
            "state_file " + folder_.file("none/state") + ": no file can be made in " + folder_.file("none") +
                ": No such file or directory; the folder must be there and writable");
  folder_.write("text", "");
  EXPECT_THAT(state_file_problem(folder_.file("text/state")), HasSubstr("Not a directory"));
  EXPECT_THAT(state_file_problem("/proc/state"), HasSubstr("no file can be made in /proc"));
}

}  // namespace
}  // namespace rain::control
