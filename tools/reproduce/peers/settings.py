"""PPO's settings, the same for all systems of this folder. README.md says how they were chosen."""
STEPS_PER_UPDATE = 2048  # 64 episodes.
EPOCHS = 4
MINIBATCHES = 4
LEARNING_RATE = 1e-3
DISCOUNT = 0.9           # As in configs/ptb.yaml.
GAE = 0.95
CLIP = 0.2
ENTROPY = 0.01
VALUE_WEIGHT = 0.5
GRADIENT_CLIP = 0.5
