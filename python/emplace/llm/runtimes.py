"""What other programs take so that they run a language model as it is placed; `emplace flags`."""
from emplace._core import BadInput
from emplace.llm import ktransformers, llama_cpp
from emplace.llm.layout import layout_of
from emplace.llm.stage_flags import STAGE_RUNTIMES
from emplace.plan import Plan

RUNTIMES = ("llama.cpp", "ktransformers", *STAGE_RUNTIMES)


def check_runtime(runtime: str) -> None:
    """Raises BadInput for a runtime for which there are no flags."""
    if runtime not in RUNTIMES:
        raise BadInput(f"runtime is '{runtime}', expected one of {', '.join(RUNTIMES)}")


def flags(runtime: str, plan: Plan) -> str:
    """The runtime's arguments or file for a plan. Raises BadInput where it cannot run the model so."""
    check_runtime(runtime)
    if runtime == "ktransformers":
        return ktransformers.flags(plan)
    layout = layout_of(plan.graph, plan.machine, plan.placement)
    return llama_cpp.flags(layout) if runtime == "llama.cpp" else STAGE_RUNTIMES[runtime](layout)
