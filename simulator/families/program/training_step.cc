#include "simulator/families/program/training_step.h"

#include <utility>
#include <vector>

#include "common/error.h"
#include "common/strings.h"

namespace emplace {

TensorProgram BuildTrainingStep(const StepOptions& options, int64_t batch, Optimizer optimizer,
                                const std::function<TensorId(TensorProgram& program, int64_t batch)>& forward) {
  if (options.microbatches < 1 || options.microbatches > batch) {
    throw BadInput(
        StrCat("the number of micro-batches is ", options.microbatches, ", expected 1..", batch, ", the batch"));
  }
  TensorProgram program(options.float_type, options.runnable);
  std::vector<std::pair<TensorId, TensorId>> sums;  // Parameter, sum of its gradients so far.
  for (int64_t i = 0; i < options.microbatches; ++i) {
    program.SetMicrobatch(static_cast<int32_t>(i));
    const int64_t examples = batch / options.microbatches + (i < batch % options.microbatches ? 1 : 0);
    const TensorId loss = forward(program, examples);
    if (options.forward_only) continue;
    const auto gradients = AddBackward(program, loss);
    program.SetMicrobatch(0);
    if (i == 0) {
      sums = gradients;
      continue;
    }
    EMPLACE_CHECK(gradients.size() == sums.size());
    for (size_t p = 0; p < sums.size(); ++p) {
      auto& [parameter, sum] = sums[p];
      EMPLACE_CHECK(gradients[p].first == parameter);
      const std::string& name = program.nodes()[static_cast<size_t>(program.tensor(parameter).node)].name;
      sum =
          program.AddBeside(parameter, StrCat("grad/", name, "/accumulate", i), "aten.add", {sum, gradients[p].second});
    }
  }
  AddUpdates(program, sums, optimizer);
  return program;
}

}  // namespace emplace
