"""PPO in TorchRL, after its PPO example: MultiSyncCollector, a process for each worker, or with one worker Collector in this process.
Each has gymnasium's SyncVectorEnv, which TorchRL's documentation and a measurement call faster than its own SerialEnv (3 to 4 times).
"""
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from tensordict.nn import TensorDictModule
from torchrl.collectors import Collector, MultiSyncCollector
from torchrl.data import LazyTensorStorage, TensorDictReplayBuffer
from torchrl.data.replay_buffers.samplers import SamplerWithoutReplacement
from torchrl.envs import GymWrapper
from torchrl.modules import ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE as AdvantageEstimate

import task
from run import start, write_checkpoint
from settings import CLIP, DISCOUNT, ENTROPY, EPOCHS, GAE, GRADIENT_CLIP, LEARNING_RATE, MINIBATCHES, STEPS_PER_UPDATE, VALUE_WEIGHT

ENVS = 16  # In all workers together, or one in each where there are more workers.


class Learner:
    def __init__(self):
        self.actor, critic = task.actor(), task.critic()
        self.policy = ProbabilisticActor(TensorDictModule(self.actor, ["observation"], ["logits"]), in_keys=["logits"],
                                         distribution_class=torch.distributions.Categorical, return_log_prob=True)
        self.value = ValueOperator(critic, ["observation"])
        self.advantage = AdvantageEstimate(gamma=DISCOUNT, lmbda=GAE, value_network=self.value)
        self.loss = ClipPPOLoss(self.policy, self.value, clip_epsilon=CLIP, entropy_coeff=ENTROPY, critic_coeff=VALUE_WEIGHT,
                                loss_critic_type="l2", normalize_advantage=True)
        self.optimizer = torch.optim.Adam(self.loss.parameters(), LEARNING_RATE, eps=1e-5)
        self._buffer = TensorDictReplayBuffer(storage=LazyTensorStorage(STEPS_PER_UPDATE), sampler=SamplerWithoutReplacement(),
                                              batch_size=STEPS_PER_UPDATE // MINIBATCHES)

    def update(self, batch):
        with torch.no_grad():
            self.advantage(batch)
        for _ in range(EPOCHS):
            self._buffer.empty()
            self._buffer.extend(batch.reshape(-1))
            for _ in range(MINIBATCHES):
                losses = self.loss(self._buffer.sample())
                loss = losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]
                self.optimizer.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(self.loss.parameters(), GRADIENT_CLIP)
                self.optimizer.step()

    def layers(self):
        return task.layers_of(self.actor.state_dict(), ["0", "2", "4"])

    def state(self):
        return {"loss": self.loss.state_dict(), "optimizer": self.optimizer.state_dict()}

    def load(self, state):
        self.loss.load_state_dict(state["loss"])
        self.optimizer.load_state_dict(state["optimizer"])


def make_collector(run, policy):
    make = task.train_env(run.graphs)

    def envs_of_worker():
        envs = SyncVectorEnv([make] * max(1, ENVS // run.workers), autoreset_mode=AutoresetMode.DISABLED)  # The collector resets.
        return GymWrapper(envs, categorical_action_encoding=True)

    settings = {"frames_per_batch": STEPS_PER_UPDATE, "total_frames": -1, "storing_device": "cpu"}
    if run.workers == 1:
        return Collector(envs_of_worker(), policy, **settings)
    torch.multiprocessing.set_start_method("fork", force=True)
    return MultiSyncCollector([envs_of_worker] * run.workers, policy, cat_results=0, **settings)


def main():
    run = start(__doc__)
    torch.set_num_threads(1)
    torch.manual_seed(run.seed)
    learner = Learner()
    steps = updates = 0
    checkpoint = run.folder / "checkpoint.pt"
    if run.resume:
        saved = torch.load(checkpoint, weights_only=False)
        learner.load(saved["learner"])
        steps, updates = saved["steps"], saved["updates"]
        run.resumed(steps, learner.layers())
    collector = make_collector(run, learner.policy)
    collector.set_seed(run.seed)
    for batch in collector:
        learner.update(batch)
        collector.update_policy_weights_()
        steps += batch.numel()
        updates += 1
        if run.progress(steps, steps, updates, learner.layers, lag=[0, 0, 0]):
            state = {"learner": learner.state(), "steps": steps, "updates": updates}
            write_checkpoint(checkpoint, lambda path: torch.save(state, path))
        if run.over():
            break
    collector.shutdown()


if __name__ == "__main__":
    main()
