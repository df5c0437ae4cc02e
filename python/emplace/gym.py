"""Placement as gymnasium environments, over the simulator.

An episode decides on the groups of a graph in topological order: step t puts group t on a device, and the whole placement is
simulated. The reward is by how much that lessens the time of a step (its natural logarithm, its square root, or seconds) and the memory that is
lacking. An episode has as many steps as there are groups, n.

Observation, float32 [n, 4 + D] in 0..1 for D devices; each row is a group: its cost and its output bytes, each over the largest
of the graph; whether it has been decided; whether it is the one to decide now; where it is (one-hot, D). Action: a device,
0..D-1. `info["action_mask"]` (int8 [D], as `Discrete.sample` wants it) has a 1 for each device that may run the current group;
after another action the group stays where it is. `info["makespan_us"]` and `info["feasible"]` tell about the placement.
"""
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from emplace._core import BadInput, Episodes, Graph, Machine
from emplace.checks import check_whole
from emplace.plan import Plan

_MAX_SEED = 2**63


def _spaces(episodes: Episodes, machine: Machine) -> tuple[gymnasium.spaces.Box, gymnasium.spaces.Discrete]:
    shape = (episodes.num_groups, episodes.num_features)
    return gymnasium.spaces.Box(0.0, 1.0, shape, np.float32), gymnasium.spaces.Discrete(len(machine))


class PlacementEnv(gymnasium.Env):
    """One episode at a time; the module's text says what is observed.

    max_groups: ops are decided in at most this many groups, or for 0 each by itself. start: "random" or "single" (all on the
    best single device), the placement from which episodes start. reward: "log", "sqrt" or "seconds". memory_penalty: for each
    GB over the memory of the fullest device, in the unit of the reward, up to memory_penalty_cap.
    """
    metadata = {"render_modes": []}

    def __init__(self, graph: Graph, machine: Machine, *, max_groups: int = 128, start: str = "random", reward: str = "log",
                 memory_penalty: float = 10.0, memory_penalty_cap: float = 10.0):
        self.graph, self.machine = graph, machine
        self._episodes = Episodes(graph, machine, 1, max_groups, start, reward, memory_penalty, memory_penalty_cap)
        self._seeded = False
        self.observation_space, self.action_space = _spaces(self._episodes, machine)

    @property
    def edges(self) -> np.ndarray:
        """int32 [E, 2]: pairs of groups of which the second reads what the first makes."""
        return self._episodes.edges()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        if seed is not None or not self._seeded:  # Else the starts go on with the random numbers of the last seed.
            self._episodes.seed(0, int(self.np_random.integers(_MAX_SEED)))
            self._seeded = True
        self._episodes.reset(0)
        return self._episodes.observe(0), self._info()

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        reward = self._episodes.step(0, int(action))
        return self._episodes.observe(0), reward, self._episodes.done(0), False, self._info()

    def plan(self) -> Plan:
        """The plan of the current placement."""
        return Plan.of(self.graph, self.machine, self._episodes.op_placement(0))

    def _info(self) -> dict:
        return {"action_mask": self._episodes.mask(0), "makespan_us": self._episodes.makespan_us(0),
                "feasible": self._episodes.feasible(0)}


class PlacementVectorEnv(gymnasium.vector.VectorEnv):
    """`num_envs` episodes (k) side by side, in one call of C++ each step.

    Observations are float32 [k, n, 4 + D], actions whole numbers [k]. The episode of an environment that is done starts anew
    at the next step, whose action it ignores (gymnasium's AutoresetMode.NEXT_STEP). The arguments are those of PlacementEnv.
    """
    metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(self, graph: Graph, machine: Machine, num_envs: int, *, max_groups: int = 128, start: str = "random",
                 reward: str = "log", memory_penalty: float = 10.0, memory_penalty_cap: float = 10.0):
        check_whole("num_envs", num_envs, 1)
        self.graph, self.machine, self.num_envs = graph, machine, num_envs
        self._episodes = Episodes(graph, machine, num_envs, max_groups, start, reward, memory_penalty, memory_penalty_cap)
        self.single_observation_space, self.single_action_space = _spaces(self._episodes, machine)
        self._is_seeded = [False] * num_envs
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def reset(self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        if isinstance(seed, list) and len(seed) != self.num_envs:
            raise BadInput(f"seed has {len(seed)} entries, expected one for each of {self.num_envs} environments")
        for index in range(self.num_envs):
            own = seed[index] if isinstance(seed, list) else None if seed is None else seed + index
            # As PlacementEnv draws it, so that an environment with this seed has the same episodes. Else the starts go on with the
            # random numbers of the last seed.
            if own is not None or not self._is_seeded[index]:
                generator = gymnasium.utils.seeding.np_random(own)[0]  # None: from the operating system.
                self._episodes.seed(index, int(generator.integers(_MAX_SEED)))
                self._is_seeded[index] = True
            self._episodes.reset(index)
        return self._observe(), self._info()

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict]:
        rewards = self._episodes.step_all(np.ascontiguousarray(actions, dtype=np.int32))
        done = np.array([self._episodes.done(index) for index in range(self.num_envs)])
        return self._observe(), rewards, done, np.zeros(self.num_envs, dtype=bool), self._info()

    def _observe(self) -> np.ndarray:
        return self._episodes.observe_all().reshape(self.num_envs, *self.single_observation_space.shape)

    def _info(self) -> dict:
        every = np.ones(self.num_envs, dtype=bool)
        info: dict[str, Any] = {"action_mask": self._episodes.mask_all(),
                                "makespan_us": np.array([self._episodes.makespan_us(i) for i in range(self.num_envs)]),
                                "feasible": np.array([self._episodes.feasible(i) for i in range(self.num_envs)])}
        return info | {f"_{key}": every for key in info}
