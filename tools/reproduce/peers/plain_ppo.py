"""PPO in one plain file, after CleanRL's ppo.py: what a person writes who takes no library.

Environments are gymnasium's AsyncVectorEnv, a process for each, or with one worker SyncVectorEnv in this process.
"""
import torch
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

import task
from run import start, write_checkpoint
from settings import CLIP, DISCOUNT, ENTROPY, EPOCHS, GAE, GRADIENT_CLIP, LEARNING_RATE, MINIBATCHES, STEPS_PER_UPDATE, VALUE_WEIGHT

ENVS_IN_PROCESS = 16  # With one worker.


def advantages_of(rewards, values, dones, last_value):
    """All [T, k]; dones: 1 where the step ended its episode. last_value: [k], after the last step."""
    advantages = torch.zeros_like(rewards)
    following, carried = last_value, torch.zeros_like(last_value)
    for t in reversed(range(len(rewards))):
        going_on = 1 - dones[t]
        carried = rewards[t] + DISCOUNT * following * going_on - values[t] + DISCOUNT * GAE * going_on * carried
        advantages[t] = carried
        following = values[t]
    return advantages


class Learner:
    def __init__(self):
        self.actor, self.critic = task.actor(), task.critic()
        self.parameters = [*self.actor.parameters(), *self.critic.parameters()]
        self.optimizer = torch.optim.Adam(self.parameters, LEARNING_RATE, eps=1e-5)

    def update(self, observations, actions, log_probs, advantages, returns):
        """All of them [N, ...]."""
        for _ in range(EPOCHS):
            for part in torch.randperm(len(actions)).chunk(MINIBATCHES):
                distribution = torch.distributions.Categorical(logits=self.actor(observations[part]))
                ratio = (distribution.log_prob(actions[part]) - log_probs[part]).exp()
                advantage = advantages[part]
                advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
                policy_loss = -torch.min(ratio * advantage, ratio.clamp(1 - CLIP, 1 + CLIP) * advantage).mean()
                value_loss = (self.critic(observations[part]).squeeze(1) - returns[part]).square().mean()
                loss = policy_loss + VALUE_WEIGHT * value_loss - ENTROPY * distribution.entropy().mean()
                self.optimizer.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(self.parameters, GRADIENT_CLIP)
                self.optimizer.step()

    def layers(self):
        return task.layers_of(self.actor.state_dict(), ["0", "2", "4"])

    def state(self):
        return {"actor": self.actor.state_dict(), "critic": self.critic.state_dict(), "optimizer": self.optimizer.state_dict()}

    def load(self, state):
        self.actor.load_state_dict(state["actor"])
        self.critic.load_state_dict(state["critic"])
        self.optimizer.load_state_dict(state["optimizer"])


def make_envs(run):
    make = task.train_env(run.graphs)
    if run.workers == 1:
        return SyncVectorEnv([make] * ENVS_IN_PROCESS, autoreset_mode=AutoresetMode.SAME_STEP)
    return AsyncVectorEnv([make] * run.workers, context="fork", autoreset_mode=AutoresetMode.SAME_STEP)


class Rollouts:
    """Plays with some environments. later_reset: the step after the end of an episode begins the next one, and its action counts
    nothing; such steps are left out."""

    def __init__(self, envs, seed, later_reset=False):
        self._envs, self._later_reset = envs, later_reset
        self._observation = torch.from_numpy(envs.reset(seed=seed)[0].copy())
        self._ended = torch.zeros(envs.num_envs)

    def play(self, learner):
        """What Learner.update takes, of about STEPS_PER_UPDATE steps."""
        count, length = self._envs.num_envs, STEPS_PER_UPDATE // self._envs.num_envs
        observations = torch.zeros(length, count, task.INPUTS)
        actions = torch.zeros(length, count, dtype=torch.int64)
        log_probs, rewards, values, dones = (torch.zeros(length, count) for _ in range(4))
        kept = torch.ones(length, count, dtype=torch.bool)
        with torch.no_grad():
            for t in range(length):
                distribution = torch.distributions.Categorical(logits=learner.actor(self._observation))
                action = distribution.sample()
                observations[t], actions[t], log_probs[t] = self._observation, action, distribution.log_prob(action)
                values[t] = learner.critic(self._observation).squeeze(1)
                if self._later_reset:
                    kept[t] = self._ended == 0
                following, reward, terminated, _, _ = self._envs.step(action.numpy())
                rewards[t], dones[t] = torch.from_numpy(reward), torch.from_numpy(terminated)
                self._observation, self._ended = torch.from_numpy(following.copy()), dones[t]
            advantages = advantages_of(rewards, values, dones, learner.critic(self._observation).squeeze(1))
        return observations[kept], actions[kept], log_probs[kept], advantages[kept], (advantages + values)[kept]


def train(run, envs, later_reset=False):
    torch.manual_seed(run.seed)
    learner = Learner()
    steps = updates = 0
    checkpoint = run.folder / "checkpoint.pt"
    if run.resume:
        saved = torch.load(checkpoint)
        learner.load(saved["learner"])
        steps, updates = saved["steps"], saved["updates"]
        run.resumed(steps, learner.layers())
    rollouts = Rollouts(envs, run.seed, later_reset)
    while not run.over():
        batch = rollouts.play(learner)
        learner.update(*batch)
        steps += len(batch[0])
        updates += 1
        if run.progress(steps, steps, updates, learner.layers, lag=[0, 0, 0]):
            state = {"learner": learner.state(), "steps": steps, "updates": updates}
            write_checkpoint(checkpoint, lambda path: torch.save(state, path))
    envs.close()


def main():
    run = start(__doc__)
    torch.set_num_threads(1)
    train(run, make_envs(run))


if __name__ == "__main__":
    main()
