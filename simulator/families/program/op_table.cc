#include "simulator/families/program/op_table.h"

#include <map>

#include "common/error.h"
#include "common/strings.h"
#include "simulator/families/program/rules/rule_parts.h"

namespace emplace {
namespace {

std::map<std::string, OpRule> MakeTable() {
  std::map<std::string, OpRule> table;
  for (const auto& rules :
       {AttentionRules(), ConvolutionRules(), ElementwiseRules(), LayoutRules(), LossRules(), MatrixRules()}) {
    for (const OpRule& rule : rules) table[rule.type] = rule;
  }
  return table;
}

const std::map<std::string, OpRule>& Table() {
  static const std::map<std::string, OpRule> table = MakeTable();
  return table;
}

}  // namespace

const OpRule& RuleOf(const std::string& type) {
  const auto found = Table().find(type);
  if (found == Table().end()) throw BadInput(StrCat("op type '", type, "' has no row in the op table"));
  return found->second;
}

OpClass ClassOf(const OpCall& call) {
  const OpClass op_class = RuleOf(call.node.type).op_class;
  return op_class == OpClass::kConvolution && call.node.attributes.channel_groups > 1 ? OpClass::kDepthwise : op_class;
}

std::vector<std::string> OpTypes() {
  std::vector<std::string> types;
  for (const auto& [type, rule] : Table()) types.push_back(type);
  return types;
}

}  // namespace emplace
