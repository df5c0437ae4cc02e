"""What every system of this folder learns, and how all of them are judged.

The task: ptb's 20 training graphs on two K80s, 32 groups, as emplace.gym.PlacementEnv has it; an episode is one graph, drawn at
random. The policy sees the environment's observation as one row of 192 numbers. It is a perceptron with as many parameters as
the policy of configs/ptb.yaml has (11,714 for 11,792); a second one of the same width estimates values.

To judge the weights of a run: python task.py FOLDER --graphs GRAPHS.
"""
import argparse
import functools
import json
import os
import pathlib

import emplace
import emplace.gym
import gymnasium
import numpy as np

from run import FOLDER, write_process

ROOT = pathlib.Path(__file__).resolve().parents[3]
GROUPS, DEVICES = 32, 2
INPUTS = GROUPS * (4 + DEVICES)
HIDDEN = [48, 48]


def load_graphs(folder, split):
    """The graphs of "train", "validation" or "test" of a folder as a run of emplace-learner makes it."""
    names = json.loads((pathlib.Path(folder) / "split.json").read_text())[split]
    return [emplace.Graph.load(pathlib.Path(folder) / name) for name in names]


def placement_env(graph):
    machine = emplace.Machine.load(ROOT / "configs/clusters/k80x2.yaml")
    return emplace.gym.PlacementEnv(graph, machine, max_groups=GROUPS, start="single")


class Episodes:
    """Makes PlacementEnvs of some graphs when they are wanted and keeps those that are not in use: it takes long to make one."""

    def __init__(self, graphs):
        self._graphs = graphs
        self._free = [[] for _ in graphs]

    def take(self, index):
        return self._free[index].pop() if self._free[index] else placement_env(self._graphs[index])

    def give_back(self, index, env):
        self._free[index].append(env)

    def __len__(self):
        return len(self._graphs)


@functools.cache
def training_episodes(folder):
    """One for all environments of a process."""
    return Episodes(load_graphs(folder, "train"))


@functools.cache
def say_worker(pid):
    """Says once that this process plays episodes."""
    if FOLDER in os.environ:
        write_process(pathlib.Path(os.environ[FOLDER]), "worker", pid)


class TrainingEnv(gymnasium.Env):
    """Each episode is that of one of the training graphs. Observation: float32 [192]."""
    metadata = {"render_modes": []}
    observation_space = gymnasium.spaces.Box(0.0, 1.0, (INPUTS,), np.float32)
    action_space = gymnasium.spaces.Discrete(DEVICES)

    def __init__(self, folder):
        self._episodes = training_episodes(folder)
        self._index, self._env = None, None
        say_worker(os.getpid())

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if self._env is not None:
            self._episodes.give_back(self._index, self._env)
        self._index = int(self.np_random.integers(len(self._episodes)))
        self._env = self._episodes.take(self._index)
        return self._env.reset()[0].reshape(-1), {}

    def step(self, action):
        observation, reward, terminated, truncated, _ = self._env.step(action)
        return observation.reshape(-1), reward, terminated, truncated, {}


def train_env(folder):
    """A function that makes a TrainingEnv. The graphs are read at once, so that processes that are forked share them."""
    training_episodes(folder)
    return lambda: TrainingEnv(folder)


def perceptron(outputs, last_gain):
    """Of PyTorch, for systems that let one bring a network."""
    import torch
    layers = []
    widths = [INPUTS, *HIDDEN, outputs]
    for index, (inputs, width) in enumerate(zip(widths, widths[1:])):
        last = index == len(HIDDEN)
        layer = torch.nn.Linear(inputs, width)
        torch.nn.init.orthogonal_(layer.weight, last_gain if last else 2**0.5)
        torch.nn.init.zeros_(layer.bias)
        layers += [layer] if last else [layer, torch.nn.Tanh()]
    return torch.nn.Sequential(*layers)


def actor():
    return perceptron(DEVICES, 0.01)


def critic():
    return perceptron(1, 1.0)


def layers_of(state, names):
    """[weight, bias, weight, ...] of a state_dict of PyTorch; names: of the actor's three linear layers."""
    return [state[f"{name}.{kind}"].detach().cpu().numpy() for name in names for kind in ("weight", "bias")]


def logits(layers, observations):
    """[k, 2] of such layers for observations [k, 192]."""
    values = observations
    for index in range(0, len(layers), 2):
        values = values @ layers[index].T + layers[index + 1]
        if index + 2 < len(layers):
            values = np.tanh(values)
    return values


class Judge:
    """Greedy passes over the validation graphs."""

    def __init__(self, folder):
        self._envs = [placement_env(graph) for graph in load_graphs(folder, "validation")]
        # Episodes start with everything on the best single device.
        self._single_us = np.array([env.reset(seed=1)[1]["makespan_us"] for env in self._envs])

    def ratio(self, layers):
        """Makespan / one device: the geometric mean over the graphs, as emplace-learner has it."""
        observations = np.stack([env.reset()[0].reshape(-1) for env in self._envs])
        for _ in range(GROUPS):
            steps = [env.step(int(action)) for env, action in zip(self._envs, logits(layers, observations).argmax(1))]
            observations = np.stack([step[0].reshape(-1) for step in steps])
        makespans = np.array([step[4]["makespan_us"] for step in steps])
        return float(np.exp(np.log(makespans / self._single_us).mean()))


def judge(folder, graphs):
    """Writes judged.jsonl: {"weights", "ratio"} of all weights of a run."""
    judging = Judge(graphs)
    with open(folder / "judged.jsonl", "w") as out:
        for line in map(json.loads, (folder / "log.jsonl").read_text().splitlines()):
            if line.get("weights"):
                with np.load(folder / line["weights"]) as saved:
                    layers = [saved[name] for name in saved.files]
                out.write(json.dumps({"weights": line["weights"], "ratio": judging.ratio(layers)}) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Judges the weights of a run.")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--graphs", type=pathlib.Path, required=True)
    options = parser.parse_args()
    judge(options.folder, options.graphs)
