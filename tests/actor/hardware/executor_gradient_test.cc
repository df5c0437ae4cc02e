// A captured training step against what LibTorch's own autograd computes for the same model.
#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <filesystem>
#include <map>

#include "actor/hardware/executor.h"
#include "actor/hardware/program/allowed_ops.h"
#include "common/files/json_text.h"
#include "common/strings.h"
#include "simulator/graph/graph_io.h"
#include "tests/actor/hardware/result_tensor.h"
#include "tests/actor/hardware/two_cpus.h"

namespace emplace {
namespace {

TEST(Executor, GradientsAreThoseOfAutograd) {
  const OpGraph graph = LoadGraph(std::filesystem::path(EMPLACE_TEST_GRAPHS) / "mlp.graph.json");
  const Cluster cluster = TwoCpus();
  Executor executor(graph, cluster, {InTurn(graph), {}});
  executor.Step();
  std::map<std::string, torch::Tensor> given;
  std::map<std::string, torch::Tensor> results;
  for (OpIndex op = 0; op < graph.num_ops(); ++op) {
    const Op& about = graph.op(op);
    if (about.type != "emplace.gradient" && about.type != "emplace.output" && !IsGiven(about)) continue;
    const nlohmann::json attrs = ParseJson(about.attrs_json, "attrs");
    const std::string name = attrs.value("name", "loss");
    (IsGiven(about) ? given : results)[name] = ResultTensor(graph, executor, op);
  }
  // The model of tests/python/support/torch_models.py.
  for (auto& [name, tensor] : given) tensor.set_requires_grad(name.find("args") == std::string::npos);
  const auto hidden =
      torch::tanh(torch::addmm(given.at("first.bias"), given.at("args[0]"), given.at("first.weight").t()));
  const auto out = torch::addmm(given.at("second.bias"), hidden, given.at("second.weight").t());
  const torch::Tensor loss = torch::mse_loss(out, given.at("args[1]"));
  loss.backward();
  EXPECT_TRUE(torch::allclose(results.at("loss"), loss.detach(), 1e-6, 1e-7));
  ASSERT_EQ(results.size(), 5u);
  for (const char* name : {"first.weight", "first.bias", "second.weight", "second.bias"}) {
    EXPECT_TRUE(torch::allclose(results.at(name), given.at(name).grad(), 1e-5, 1e-7)) << name;
  }
}

TEST(AllowedOps, AreOperatorsOfThisLibTorch) {
  for (const std::string_view name : AllowedOps()) {
    const std::vector<std::string> parts = Split(name, '.');
    ASSERT_EQ(parts.size(), 3u) << name;
    EXPECT_TRUE(c10::Dispatcher::singleton()
                    .findSchema({"aten::" + parts[1], parts[2] == "default" ? "" : parts[2]})
                    .has_value())
        << name;
  }
}

}  // namespace
}  // namespace emplace
