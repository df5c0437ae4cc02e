// Run configurations. Lines of the input that begin with "--set " are overrides, the others are the YAML.
#include <string>
#include <vector>

#include "common/strings.h"
#include "policy/config/run_config.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace emplace;
  constexpr std::string_view kSet = "--set ";
  std::string yaml;
  std::vector<std::string> overrides;
  for (const std::string& line : Split(InputText(data, size), '\n')) {
    if (line.starts_with(kSet)) {
      overrides.push_back(line.substr(kSet.size()));
    } else {
      yaml += line + "\n";
    }
  }
  const auto config = Accepted([&] { return ParseRunConfig(yaml, "config", "/configs", overrides); });
  if (!config) return 0;
  const std::string written = RunConfigToYaml(*config);
  const RunConfig again = ParseRunConfig(written, "written", "/elsewhere");
  EMPLACE_CHECK(RunConfigToYaml(again) == written);
  EMPLACE_CHECK(again.name == config->name && again.workload.devices == config->workload.devices);
  EMPLACE_CHECK(again.workload.train_graphs == config->workload.train_graphs);
  return 0;
}
