#include "common/wire/access/zap_handler.h"

#include <pthread.h>

#include <array>
#include <string_view>

#include "common/log.h"
#include "common/strings.h"
#include "common/wire/access/keys.h"
#include "common/wire/sockets.h"

namespace emplace {
namespace {

constexpr const char* kAddress = "inproc://zeromq.zap.01";
constexpr std::chrono::milliseconds kPoll(50);  // Between looks at whether it is to end.

// Frames of a request, by RFC 27.
enum Request : size_t { kVersion, kId, kDomain, kPeerAddress, kIdentity, kMechanism, kCredentials, kRequestFrames };

}  // namespace

ZapHandler::ZapHandler(zmq::context_t& context, const std::vector<std::string>& allowed)
    : socket_(context, zmq::socket_type::rep), allowed_(allowed.begin(), allowed.end()) {
  socket_.set(zmq::sockopt::linger, 0);
  socket_.bind(kAddress);
  thread_ = std::thread([this] { Run(); });
}

ZapHandler::~ZapHandler() {
  done_ = true;
  thread_.join();
}

void ZapHandler::Deny(const std::string& public_key) {
  const MutexLock lock(mu_);
  allowed_.erase(public_key);
}

bool ZapHandler::IsAllowed(const std::string& public_key) {
  const MutexLock lock(mu_);
  return allowed_.contains(public_key);
}

void ZapHandler::Run() {
  pthread_setname_np(pthread_self(), "keys");  // For profilers and top.
  while (!done_) {
    try {
      if (WaitReadable(socket_, kPoll)) Answer();
    } catch (const zmq::error_t& error) {
      if (error.num() != EINTR) LogWarning(StrCat("keys cannot be checked: ", error.what()));
    }
  }
}

void ZapHandler::Answer() {
  std::vector<std::string> frames;
  do {
    zmq::message_t frame;
    if (!socket_.recv(frame)) return;
    frames.push_back(frame.to_string());
  } while (socket_.get(zmq::sockopt::rcvmore));
  if (frames.size() < kRequestFrames) frames.resize(kRequestFrames);

  // As text, which is what the allow-list has and what messages carry from now on as the name of their sender.
  std::string key;
  if (frames[kDomain] == kKeyDomain && frames[kMechanism] == "CURVE" && frames[kCredentials].size() == kKeyBytes) {
    std::array<char, kKeyCharacters + 1> text{};
    zmq_z85_encode(text.data(), reinterpret_cast<const uint8_t*>(frames[kCredentials].data()), kKeyBytes);
    key = text.data();
  }
  const bool allowed = IsAllowed(key);
  if (!allowed) {
    ++refused_;
    refusals_.Warn(StrCat("a connection from ", frames[kPeerAddress], " is refused: its key is not let in"));
  }
  const std::array<std::string, 6> reply = {"1.0", frames[kId], allowed ? "200" : "400", allowed ? "OK" : "not let in",
                                            key,   ""};
  for (size_t i = 0; i < reply.size(); ++i) {
    socket_.send(zmq::buffer(reply[i]), i + 1 < reply.size() ? zmq::send_flags::sndmore : zmq::send_flags::none);
  }
}

}  // namespace emplace
