"""PufferLib's vectorized environments, Multiprocessing or with one worker Serial, under the loop of plain_ppo.py: version 1.0.1 brings
its own loop only in its repository. Later versions cannot be built from PyPI alone.
"""
import old_gymnasium  # isort: skip

import pufferlib.emulation
import pufferlib.vector
import torch

import plain_ppo
import task
from run import start

ENVS = 16  # In all workers together.


def make_envs(run):
    make = task.train_env(run.graphs)

    def create():
        return pufferlib.emulation.GymnasiumPufferEnv(env_creator=make)

    if run.workers == 1:
        return pufferlib.vector.make(create, num_envs=ENVS, backend=pufferlib.vector.Serial)
    return pufferlib.vector.make(create, num_envs=ENVS, num_workers=run.workers, batch_size=ENVS, backend=pufferlib.vector.Multiprocessing)


def main():
    run = start(__doc__)
    torch.set_num_threads(1)
    plain_ppo.train(run, make_envs(run), later_reset=True)


if __name__ == "__main__":
    main()
