// The constants of a call, as the operator's schema wants them.
#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <string>

#include "actor/hardware/program/aten_call.h"
#include "common/error.h"

namespace emplace {

// The type of numbers of a name such as "f32", as graphs write it. Throws BadInput "place: ..." for another name.
c10::ScalarType DtypeNamed(const std::string& name, const std::string& place);

// The constant as the value of this argument: graphs write 1 also where the operator takes 1.0, and 2 where it takes
// [2, 2]. Throws BadInput "place: ..." for a constant that the argument cannot be, or a name that nothing has.
c10::IValue ToIValue(const AtenConstant& constant, const c10::Argument& argument, const std::string& place);

// BadInput for an argument whose value is of another type than it takes.
Error WrongValue(const c10::Argument& argument, const std::string& place);

}  // namespace emplace
