"""What the repository of Sailor (github.com/eth-easl/sailor, SOSP 2025) has measured on real GPUs: times of layers, bandwidths between
nodes, and steps of pipelines under plans. All from its own files, in a checkout.

A node is a number of GPUs of one type that share each layer (tensor parallelism), and is one device here; its kind is "RTX-3090 x8".
"""
import functools
import json
from dataclasses import dataclass

from lib.script import BadInput

ZONE = "us-central1-a"  # The one zone in all of these plans.
FLOAT_BYTES = 4  # Trained without fp16 or bf16: run_opt.slurm gives DeepSpeed neither, and gradients travel in as many bytes.
PLANS = "sailor/Planner/simulations/validation"


@dataclass(frozen=True)
class Plan:
    """A measured plan."""
    name: str  # "mit/N4/plan_config_N4_D1"
    model: str
    microbatch: int  # Sequences.
    batch: int  # Sequences of a step, over all replicas.
    stages: tuple[tuple[int, ...], ...]  # Layers of each.
    nodes: tuple[tuple[tuple[str, int], ...], ...]  # [stages][replicas] type and number of the GPUs.
    measured_s: float
    measured_reduction_s: float

    @property
    def replicas(self):
        return len(self.nodes[0])

    @property
    def microbatches(self):
        return max(1, self.batch // self.microbatch // self.replicas)


class Checkout:
    """The files of a checkout, read when they are asked for."""

    def __init__(self, folder):
        self.folder = folder
        if not (folder / PLANS).is_dir():
            raise BadInput(f"{folder}: has no {PLANS}, expected a checkout of github.com/eth-easl/sailor")

    @functools.cache
    def read(self, name):
        try:
            return json.loads((self.folder / name).read_text())
        except (OSError, json.JSONDecodeError) as error:
            raise BadInput(f"{self.folder / name}: {error}, expected a JSON file of Sailor's") from None

    def plans(self):
        """All measured plans whose model's layers are known, by name."""
        found = []
        for path in sorted((self.folder / PLANS).rglob("plan_config_*.json")):
            name = str(path.relative_to(self.folder))
            text = self.read(name)
            pipeline = text["pipeline_list"][0]
            nodes = tuple(tuple((config[0][0][0], config[1]) for config in stage) for stage in pipeline["tmp_per_stage"])
            found.append(Plan(name.removeprefix(f"{PLANS}/").removesuffix(".json"), "GPT-Neo-2.7" if "GPT-NEO" in name else "OPT-350",
                              text["mbs"], text["gbs"], tuple(tuple(layers) for layers in pipeline["layers_per_stage"]), nodes,
                              text["real"], text["red_grads"]))
        return found

    def layer_times_s(self, model, node, microbatch):
        """[layers] of forward, backward and update. The file is the one by which Sailor validates its own simulator."""
        gpu, count = node
        times = self.read("sailor/Planner/simulations/profiles_tmp.json")[model][gpu][str(microbatch)][str(count)]
        return [times[str(layer)] for layer in range(len(times))]

    def layer_sizes(self, model):
        """[layers] of parameters, and of the activations that one sequence leaves behind a layer, both as numbers of floats."""
        sizes = self.read("sailor/Planner/llm_info.json")[model]["1"]
        return [(sizes[str(layer)]["params_floats"], sizes[str(layer)]["act_output_floats"]) for layer in range(len(sizes))]

    def bandwidth(self, sender, receiver):
        """Bytes/s that a node reaches when it sends to another one."""
        between = self.read("sailor/providers/multizone_bandwidths_het.json")[ZONE]
        return between[sender[0]]["1"][ZONE][receiver[0]]["1"][1]

    def reduction_s(self, plan):
        """[stages] time of the sum of gradients over the replicas: in a ring, over its slowest pair of nodes."""
        sizes, count = self.layer_sizes(plan.model), plan.replicas
        times = []
        for layers, nodes in zip(plan.stages, plan.nodes):
            slowest = min((self.bandwidth(nodes[i], nodes[(i + 1) % count]) for i in range(count)), default=1) if count > 1 else 1
            traffic = FLOAT_BYTES * sum(sizes[layer][0] for layer in layers) * 2 * (count - 1) / count
            times.append(traffic / slowest)
        return times
