// What operators ask and order, at a Controller. Private to this folder.
#pragma once

#include "control/controller.h"
#include "rain/v1/control.grpc.pb.h"

namespace rain::control {

class AdminService final : public v1::Admin::Service {
 public:
  explicit AdminService(Controller& controller) : controller_(controller) {}

  grpc::Status GetStatus(grpc::ServerContext*, const v1::StatusRequest*, v1::Status* reply) override;
  grpc::Status Change(grpc::ServerContext*, const v1::ChangeRequest* request,
                      v1::ChangeReply* reply) override;

 private:
  Result<Done> order_weight(const v1::ChangeRequest& request);

  Controller& controller_;
};

}  // namespace rain::control
