"""Trains a policy of one's own by REINFORCE against the gymnasium environment: python own_policy.py [UPDATES]"""
import sys

import emplace
import torch
from torch import nn

updates = int(sys.argv[1]) if len(sys.argv) > 1 else 200
graph = emplace.generate("ptb", size="small")[0]
machine = emplace.Machine([emplace.Device(f"gpu:{index}", "k80", 11e9) for index in range(2)], bandwidth_bytes_per_us=7600,
                          transfer_overhead_us=25, op_overhead_us=5.7)
episodes = 16
env = emplace.gym.PlacementVectorEnv(graph, machine, episodes, max_groups=24, start="single")
groups, features = env.single_observation_space.shape

# Sees the whole graph: a row for each group, of its cost, its bytes, and where it is.
torch.manual_seed(0)
policy = nn.Sequential(nn.Flatten(), nn.Linear(groups * features, 64), nn.Tanh(), nn.Linear(64, len(machine)))
optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
best_us = float("inf")
for update in range(updates):
    observation, info = env.reset(seed=update * episodes)
    log_probs, rewards, entropies = [], [], []
    for _ in range(groups):
        logits = policy(torch.from_numpy(observation))
        logits = logits.masked_fill(torch.from_numpy(info["action_mask"]) == 0, -1e9)
        choice = torch.distributions.Categorical(logits=logits)
        action = choice.sample()
        log_probs.append(choice.log_prob(action))
        entropies.append(choice.entropy())
        observation, reward, _, _, info = env.step(action.numpy())
        rewards.append(torch.from_numpy(reward).float())
    # What each action has led to: the rewards from it on, against the mean of all episodes at this step.
    returns = torch.stack(rewards).flip(0).cumsum(0).flip(0)
    advantages = (returns - returns.mean(1, keepdim=True)) / (returns.std() + 1e-6)
    curiosity = 0.05 * (1 - update / updates)  # Else the policy is soon content with one device.
    loss = -(torch.stack(log_probs) * advantages + curiosity * torch.stack(entropies)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    best_us = min(best_us, info["makespan_us"].min())
    if update % 20 == 0 or update == updates - 1:
        print(f"update {update}: mean makespan {info['makespan_us'].mean() / 1e3:.3f} ms, best so far {best_us / 1e3:.3f} ms")
single_us = emplace.place(graph, machine, budget=1, method="single").makespan_us
print(f"one device takes {single_us / 1e3:.3f} ms, the best placement of the policy {best_us / single_us:.3f} of that")
