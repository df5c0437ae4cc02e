#include "common/log.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "common/error.h"

namespace emplace {
namespace {

constexpr char kPattern[] = "%H:%M:%S.%e %n %l %v";

std::shared_ptr<spdlog::logger> MakeLogger(const std::string& role, std::vector<spdlog::sink_ptr> sinks) {
  auto logger = std::make_shared<spdlog::logger>(role, sinks.begin(), sinks.end());
  logger->set_pattern(kPattern);
  logger->flush_on(spdlog::level::info);
  return logger;
}

}  // namespace

void SetLogRole(const std::string& role) {
  spdlog::set_default_logger(MakeLogger(role, {std::make_shared<spdlog::sinks::stderr_color_sink_mt>()}));
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

void LogInfo(std::string_view message) { spdlog::default_logger_raw()->info("{}", message); }
void LogWarning(std::string_view message) { spdlog::default_logger_raw()->warn("{}", message); }

}  // namespace emplace
