"""Stable-Baselines3's PPO with SubprocVecEnv, a process for each environment, or with one worker DummyVecEnv in this process."""
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv

import task
from run import start, write_checkpoint
from settings import CLIP, DISCOUNT, ENTROPY, EPOCHS, GAE, GRADIENT_CLIP, LEARNING_RATE, MINIBATCHES, STEPS_PER_UPDATE, VALUE_WEIGHT

ENVS_IN_PROCESS = 16  # With one worker.


def layers(model):
    return task.layers_of(model.policy.state_dict(), ["mlp_extractor.policy_net.0", "mlp_extractor.policy_net.2", "action_net"])


class Watch(BaseCallback):
    """Called by PPO at the start of each rollout, so after each update."""

    def __init__(self, run, checkpoint):
        super().__init__()
        self._run, self._checkpoint = run, checkpoint

    def _on_rollout_start(self):
        if self.model._n_updates == 0:
            return
        steps = self.model.num_timesteps
        if self._run.progress(steps, steps, self.model._n_updates // EPOCHS, lambda: layers(self.model), lag=[0, 0, 0]):
            write_checkpoint(self._checkpoint, self.model.save)

    def _on_step(self):
        return not self._run.over()


def fresh_model(run, envs):
    return PPO("MlpPolicy", envs, learning_rate=LEARNING_RATE, n_steps=STEPS_PER_UPDATE // envs.num_envs,
               batch_size=STEPS_PER_UPDATE // MINIBATCHES, n_epochs=EPOCHS, gamma=DISCOUNT, gae_lambda=GAE, clip_range=CLIP,
               ent_coef=ENTROPY, vf_coef=VALUE_WEIGHT, max_grad_norm=GRADIENT_CLIP, seed=run.seed, device="cpu",
               policy_kwargs={"net_arch": {"pi": task.HIDDEN, "vf": task.HIDDEN}})


def main():
    run = start(__doc__)
    torch.set_num_threads(1)
    make = task.train_env(run.graphs)
    if run.workers == 1:
        envs = DummyVecEnv([make] * ENVS_IN_PROCESS)
    else:
        envs = SubprocVecEnv([make] * run.workers, start_method="fork")
    checkpoint = run.folder / "checkpoint.zip"
    if run.resume:
        model = PPO.load(checkpoint, envs, device="cpu")
        run.resumed(model.num_timesteps, layers(model))
    else:
        model = fresh_model(run, envs)
    model.learn(int(1e12), Watch(run, checkpoint), reset_num_timesteps=not run.resume)
    envs.close()


if __name__ == "__main__":
    main()
