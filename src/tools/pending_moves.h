// The moves that a server's agent has asked the controller for and has no answer to. Each ends alone: by the worker's new
// row, by its refusal, or because no answer came in time. Pure.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "base/ids.h"
#include "base/time.h"

namespace rain::tools {

class PendingMoves {
 public:
  /// An answer that has not come by then is not to be expected.
  static constexpr Nanos kPatience = seconds(2);

  void ask(WorkerId worker, Nanos now) { give_up_[worker] = now + kPatience; }
  void on_moved(WorkerId worker) { give_up_.erase(worker); }
  /// Those that will not come, by refusal or by time; they are pending no more.
  std::vector<WorkerId> take_failed(const std::set<WorkerId>& refused, Nanos now) {
    std::vector<WorkerId> failed;
    std::erase_if(give_up_, [&](const auto& move) {
      if (!refused.contains(move.first) && now < move.second) return false;
      failed.push_back(move.first);
      return true;
    });
    return failed;
  }

 private:
  std::map<WorkerId, Nanos> give_up_;
};

}  // namespace rain::tools
