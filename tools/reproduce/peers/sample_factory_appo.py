"""Sample Factory's APPO: rollout workers, an inference worker and a learner, each a process, that do not wait for one another."""
import pathlib
import time

import old_gymnasium  # isort: skip

import torch
from sample_factory.algo.learning.learner import Learner
from sample_factory.algo.runners.runner import AlgoObserver
from sample_factory.cfg.arguments import parse_full_cfg, parse_sf_args
from sample_factory.envs.env_utils import register_env
from sample_factory.train import make_runner

import task
from run import WEIGHTS_EVERY_S, start, write_line, write_process, write_weights
from settings import CLIP, DISCOUNT, ENTROPY, EPOCHS, GAE, GRADIENT_CLIP, LEARNING_RATE, MINIBATCHES, STEPS_PER_UPDATE, VALUE_WEIGHT

ENVS_PER_WORKER = 16  # In two halves: one acts while the other waits for its actions.
EXPERIMENT = "sample_factory"
LAYERS = ["actor_encoder.encoders.obs.mlp_head.0", "actor_encoder.encoders.obs.mlp_head.2", "action_parameterization.distribution_linear"]


def make_env(name, config, env_config, render_mode=None):
    return task.TrainingEnv(pathlib.Path(config.graphs))


def on_load(load):
    """Learner.load_from_checkpoint, which then says who it is and what it has loaded. Called in the learner's process."""
    def wrapped(learner, *arguments, **options):
        load(learner, *arguments, **options)
        folder = pathlib.Path(learner.cfg.train_dir)
        write_process(folder, "learner")
        if learner.cfg.restart_behavior == "resume":
            layers = task.layers_of(learner.actor_critic.state_dict(), LAYERS)
            write_line(folder, resumed_steps=learner.env_steps, weights=write_weights(folder, layers))
    return wrapped


Learner.load_from_checkpoint = on_load(Learner.load_from_checkpoint)


def keep_weights(folder):
    """Adds lines for the checkpoints that have come since the last call; a checkpoint's name says its updates and steps."""
    written = folder / EXPERIMENT / "checkpoint_p0"
    for path in sorted(written.glob("checkpoint_*.pth")):
        if not path.with_suffix(".kept").exists():
            layers = task.layers_of(torch.load(path, map_location="cpu", weights_only=False)["model"], LAYERS)
            _, updates, steps = path.stem.split("_")
            write_line(folder, time=path.stat().st_mtime, trained=int(steps), updates=int(updates),
                            weights=write_weights(folder, layers))
            path.with_suffix(".kept").touch()


class Watch(AlgoObserver):
    def __init__(self, run):
        self._run = run
        self._next = 0.0

    def on_training_step(self, runner, training_iteration_since_resume):
        if self._run.over():
            runner.cfg.train_for_env_steps = 0  # Checked after each update.
        if time.time() >= self._next and runner.env_steps:
            # A policy version is one gradient step.
            lag = [float(runner.policy_lag[0].get(f"version_diff_{name}", 0)) for name in ("min", "avg", "max")]
            trained = runner.env_steps[0]
            steps = trained - runner.total_env_steps_since_resume + runner.samples_collected[0]
            write_line(self._run.folder, steps=steps, trained=trained, updates=training_iteration_since_resume, lag=lag, weights=None)
            self._next = time.time() + 1


def configuration(run):
    settings = {
        "env": "placement", "experiment": EXPERIMENT, "train_dir": str(run.folder), "seed": run.seed, "device": "cpu",
        "restart_behavior": "resume" if run.resume else "overwrite", "save_every_sec": WEIGHTS_EVERY_S, "keep_checkpoints": 100000,
        "save_best_every_sec": 100000, "num_workers": run.workers, "num_envs_per_worker": ENVS_PER_WORKER, "rollout": task.GROUPS,
        "batch_size": STEPS_PER_UPDATE // MINIBATCHES, "num_batches_per_epoch": MINIBATCHES, "num_epochs": EPOCHS,
        "learning_rate": LEARNING_RATE, "gamma": DISCOUNT, "gae_lambda": GAE, "ppo_clip_ratio": CLIP,
        "exploration_loss_coeff": ENTROPY, "value_loss_coeff": VALUE_WEIGHT, "max_grad_norm": GRADIENT_CLIP, "reward_clip": 1000,
        "normalize_input": False, "use_rnn": False, "actor_critic_share_weights": False, "nonlinearity": "tanh"}
    words = [f"--{name}={value}" for name, value in settings.items()] + ["--encoder_mlp_layers", *map(str, task.HIDDEN)]
    config = parse_full_cfg(parse_sf_args(words)[0], words)
    config.graphs = str(run.graphs)
    return config


def main():
    run = start(__doc__)
    register_env("placement", make_env)
    keep_weights(run.folder)
    config, runner = make_runner(configuration(run))
    runner.register_observer(Watch(run))
    runner.init()
    runner.run()
    keep_weights(run.folder)


if __name__ == "__main__":
    main()
