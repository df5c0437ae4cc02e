"""What every system of this folder learns, and how all of them are judged.

The task: ptb's 20 training graphs on two K80s, 32 groups, as emplace.gym.PlacementEnv has it; an episode is one graph, drawn at
random. The policy sees the environment's observation as one row of 192 numbers. It is a perceptron with as many parameters as
the policy of configs/ptb.yaml has (11,714 for 11,792); a second one of the same width estimates values.

A run is a folder. While it trains a system writes log.jsonl and, every few seconds, the weights of its policy. These are judged
after the run, so that judging takes no time from training: python task.py FOLDER --graphs GRAPHS.
"""
import argparse
import functools
import json
import os
import pathlib
import time

import emplace
import emplace.gym
import gymnasium
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[3]
GROUPS, DEVICES = 32, 2
INPUTS = GROUPS * (4 + DEVICES)
HIDDEN = [48, 48]
WEIGHTS_EVERY_S = 5
CHECKPOINT_EVERY_S = 10


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


class TrainingEnv(gymnasium.Env):
    """Each episode is that of one of the training graphs. Observation: float32 [192]."""
    metadata = {"render_modes": []}
    observation_space = gymnasium.spaces.Box(0.0, 1.0, (INPUTS,), np.float32)
    action_space = gymnasium.spaces.Discrete(DEVICES)

    def __init__(self, folder):
        self._episodes = training_episodes(folder)
        self._index, self._env = None, None

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


def write_line(folder, **values):
    """Adds a line to a run's log, with the time unless it is given."""
    with open(folder / "log.jsonl", "a") as log:
        log.write(json.dumps({"time": time.time(), **values}) + "\n")


def write_weights(folder, layers):
    """Returns the name of the file."""
    name = f"weights_{time.time():.3f}.npz"
    np.savez(folder / name, *layers)
    return name


class Run:
    """A run's folder, clock and log.

    log.jsonl has lines {"time": Unix time, "steps": environment steps so far, "trained": those of them that an update has learned
    from, each counted once, "updates", "lag": policy versions between acting and learning as [least, mean, most] or null where the
    system does not say, "weights": file or null}. Before these, {"time", "resumed_steps", "weights"} where a run was resumed.
    """

    def __init__(self, options):
        self.folder, self.graphs, self.seed, self.workers = options.folder.resolve(), options.graphs.resolve(), options.seed, options.workers
        self.resume = options.resume
        self.end = time.time() + options.seconds
        self._weights_at = self._checkpoint_at = 0.0
        self.folder.mkdir(parents=True, exist_ok=True)

    def train_env(self):
        """A function that makes a TrainingEnv. The graphs are read at once, so that processes that are forked share them."""
        training_episodes(self.graphs)
        return lambda: TrainingEnv(self.graphs)

    def over(self):
        return time.time() >= self.end

    def resumed(self, steps, layers):
        """Before the first update of a resumed run. layers: those of the actor."""
        write_line(self.folder, resumed_steps=steps, weights=write_weights(self.folder, layers))

    def progress(self, steps, trained, updates, layers, lag=None):
        """After an update. layers: a function that gives those of the actor."""
        path = None
        if time.time() >= self._weights_at or self.over():
            path = write_weights(self.folder, layers())
            self._weights_at = time.time() + WEIGHTS_EVERY_S
        write_line(self.folder, steps=steps, trained=trained, updates=updates, lag=lag, weights=path)

    def checkpoint_due(self):
        due = time.time() >= self._checkpoint_at
        if due:
            self._checkpoint_at = time.time() + CHECKPOINT_EVERY_S
        return due


def arguments(description):
    parser = argparse.ArgumentParser(description=description.split("\n\n")[0])
    parser.add_argument("--folder", type=pathlib.Path, required=True, help="folder of the run")
    parser.add_argument("--graphs", type=pathlib.Path, required=True, help="folder of the graphs, with split.json")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2, help="number of processes that play episodes")
    parser.add_argument("--seconds", type=float, default=600, help="seconds after which the run ends")
    parser.add_argument("--resume", action="store_true", help="go on from the last checkpoint")
    return parser.parse_args()


def start(description):
    """The run that the command line asks for."""
    return Run(arguments(description))


def write_checkpoint(path, write):
    """write(path) to a file aside, which then replaces the last one: a process may be killed meanwhile."""
    aside = path.with_name("new_" + path.name)
    write(aside)
    os.replace(aside, path)


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
