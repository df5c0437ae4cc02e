#include "tests/actor/hardware/result_tensor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>

namespace emplace {

torch::Tensor ResultTensor(const OpGraph& graph, const Executor& executor, OpIndex op) {
  const OpOutput& output = graph.op(op).outputs.at(0);
  const std::map<std::string, torch::ScalarType> types = {
      {"f32", torch::kFloat32}, {"f64", torch::kFloat64}, {"i64", torch::kInt64}};
  torch::Tensor tensor = torch::empty(*output.shape, types.at(output.dtype));
  const std::vector<std::byte> bytes = executor.Bytes(op, 0);
  EXPECT_EQ(bytes.size(), tensor.nbytes());
  std::memcpy(tensor.data_ptr(), bytes.data(), std::min(bytes.size(), tensor.nbytes()));
  return tensor;
}

}  // namespace emplace
