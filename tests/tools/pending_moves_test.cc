#include "tools/pending_moves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rain::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(PendingMoves, take_failed__only_the_one_that_was_refused) {
  PendingMoves moves;
  for (const WorkerId id : {WorkerId{1}, WorkerId{2}, WorkerId{3}}) moves.ask(id, seconds(10));
  EXPECT_THAT(moves.take_failed({{2}, {9}}, seconds(10)), ElementsAre(WorkerId{2}));
  EXPECT_THAT(moves.take_failed({{2}}, seconds(10)), IsEmpty()) << "once";
}

TEST(PendingMoves, take_failed__those_without_an_answer) {
  PendingMoves moves;
  moves.ask({1}, seconds(10));
  moves.ask({2}, seconds(11));
  moves.ask({3}, seconds(10));
  moves.on_moved({3});
  EXPECT_THAT(moves.take_failed({}, seconds(12) - Nanos{1}), IsEmpty());
  EXPECT_THAT(moves.take_failed({}, seconds(12)), ElementsAre(WorkerId{1}));
  moves.ask({2}, seconds(12));
  EXPECT_THAT(moves.take_failed({}, seconds(13)), IsEmpty()) << "asked again: the time begins anew";
}

}  // namespace
}  // namespace rain::tools
