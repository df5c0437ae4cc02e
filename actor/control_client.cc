#include "actor/control_client.h"

#include <exception>
#include <utility>
#include <vector>

#include "common/error.h"
#include "common/strings.h"

namespace emplace {

ControlClient::ControlClient(ConversationOptions options)
    : options_(std::move(options)), thread_([this](const std::stop_token& stop) { Run(stop); }) {}

void ControlClient::Run(const std::stop_token& stop) {
  try {
    Conversation conversation(options_, exchange_);
    while (!stop.stop_requested()) {
      const auto [goodbyes, leaving] = exchange_.TakeGoodbyes();
      for (const Goodbye& goodbye : goodbyes) conversation.Send(goodbye);
      for (const MeasureReply& reply : exchange_.TakeMeasureReplies()) conversation.Send(reply);
      if (leaving) return;
      conversation.RunOnce();
    }
  } catch (const Error& error) {
    exchange_.End({true, error.kind(), error.what()});
  } catch (const std::exception& error) {
    exchange_.End({true, Error::Kind::kRunFailed, StrCat("control connection: ", error.what())});
  }
}

void ControlClient::Leave(const ActorKey& actor, uint64_t produced) {
  exchange_.SayGoodbye(actor, produced);
  exchange_.Leave();
  thread_.join();
}

}  // namespace emplace
