#include "common/log.h"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <mutex>

#include "common/error.h"
#include "common/threads/line_writer.h"

namespace emplace {
namespace {

constexpr char kPattern[] = "%H:%M:%S.%e %n %l %v";

class StderrSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  void FlushLines(std::chrono::milliseconds timeout) { writer_.Flush(timeout); }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    writer_.Write(std::string(line.data(), line.size() - 1));  // Without the line break.
  }
  void flush_() override {}

  LineWriter writer_{STDERR_FILENO};
};

std::shared_ptr<spdlog::logger> MakeLogger(const std::string& role, std::vector<spdlog::sink_ptr> sinks) {
  auto logger = std::make_shared<spdlog::logger>(role, sinks.begin(), sinks.end());
  logger->set_pattern(kPattern);
  logger->flush_on(spdlog::level::info);
  return logger;
}

}  // namespace

void SetLogRole(const std::string& role) {
  spdlog::set_default_logger(MakeLogger(role, {std::make_shared<StderrSink>()}));
}

void LogToFile(const std::string& path) {
  try {
    auto sinks = spdlog::default_logger()->sinks();
    sinks.push_back(std::make_shared<spdlog::sinks::basic_file_sink_mt>(path));
    spdlog::set_default_logger(MakeLogger(spdlog::default_logger()->name(), std::move(sinks)));
  } catch (const spdlog::spdlog_ex& error) {
    throw RunFailed(path + ": cannot write the log: " + error.what());
  }
}

void FlushLog(std::chrono::milliseconds timeout) {
  for (const spdlog::sink_ptr& sink : spdlog::default_logger_raw()->sinks()) {
    if (auto* const lines = dynamic_cast<StderrSink*>(sink.get())) lines->FlushLines(timeout);
  }
}

void LogInfo(std::string_view message) { spdlog::default_logger_raw()->info("{}", message); }
void LogWarning(std::string_view message) { spdlog::default_logger_raw()->warn("{}", message); }

}  // namespace emplace
