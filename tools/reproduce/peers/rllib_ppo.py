"""RLlib's PPO (its new API stack): one local learner, and env runners as Ray actors with several environments each. With one worker
the algorithm's own process plays.
"""
import ray
from ray.rllib.algorithms.ppo import PPO, PPOConfig
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
from ray.tune.registry import register_env

import task
from run import start
from settings import CLIP, DISCOUNT, ENTROPY, EPOCHS, GAE, GRADIENT_CLIP, LEARNING_RATE, MINIBATCHES, STEPS_PER_UPDATE, VALUE_WEIGHT

ENVS = 16  # In all env runners together, or one in each where there are more of them.


def configuration(run):
    graphs = run.graphs
    register_env("placement", lambda _: task.TrainingEnv(graphs))
    runners = run.workers if run.workers > 1 else 0
    return (PPOConfig()
            .environment("placement")
            .env_runners(num_env_runners=runners, num_envs_per_env_runner=max(1, ENVS // run.workers), num_cpus_per_env_runner=0,
                         rollout_fragment_length="auto")
            .learners(num_learners=0)
            .rl_module(model_config=DefaultModelConfig(fcnet_hiddens=task.HIDDEN, fcnet_activation="tanh", vf_share_layers=False))
            .training(train_batch_size_per_learner=STEPS_PER_UPDATE, minibatch_size=STEPS_PER_UPDATE // MINIBATCHES,
                      num_epochs=EPOCHS, lr=LEARNING_RATE, gamma=DISCOUNT, lambda_=GAE, clip_param=CLIP, use_kl_loss=False,
                      vf_loss_coeff=VALUE_WEIGHT, vf_clip_param=float("inf"), entropy_coeff=ENTROPY, grad_clip=GRADIENT_CLIP)
            .fault_tolerance(restart_failed_env_runners=True)
            .debugging(seed=run.seed, log_level="ERROR"))


def layers(algorithm):
    state = algorithm.get_module().state_dict()
    names = ["encoder.actor_encoder.net.mlp.0", "encoder.actor_encoder.net.mlp.2", "pi.net.mlp.0"]
    return task.layers_of(state, names)


def main():
    run = start(__doc__)
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    algorithm = configuration(run).build_algo()
    checkpoint = run.folder / "checkpoint"
    steps = updates = 0
    if run.resume:
        algorithm.restore_from_path(str(checkpoint))
        updates = algorithm.iteration
        steps = updates * STEPS_PER_UPDATE
        run.resumed(steps, layers(algorithm))
    while not run.over():
        result = algorithm.train()
        steps = int(result["num_env_steps_sampled_lifetime"])
        updates += 1
        if run.progress(steps, steps, updates, lambda: layers(algorithm), lag=[0, 0, 0]):
            algorithm.save_to_path(str(checkpoint))
    algorithm.stop()
    ray.shutdown()


if __name__ == "__main__":
    main()
