"""emplace.gym"""
import math
import warnings

import emplace
import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env


@pytest.fixture(params=["random", "single"])
def env(ptb, machine, request):
    return emplace.gym.PlacementEnv(ptb, machine, max_groups=16, start=request.param)


def play(env, actions, seed):
    observation, info = env.reset(seed=seed)
    yield observation, 0.0, False, info
    for action in actions:
        observation, reward, done, _, info = env.step(action)
        yield observation, reward, done, info


def test_gymnasiums_checker(env):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*not within the environment spec.*|.*spec.*|.*render.*")
        check_env(env, skip_render_check=True)


def test_rewards_add_up_to_the_gain_of_the_plan(env, ptb, machine):
    groups = env.observation_space.shape[0]
    actions = np.random.default_rng(3).integers(0, 2, groups)
    steps = list(play(env, actions, 7))
    assert len(steps) == groups + 1 and steps[-1][2] and not any(done for _, _, done, _ in steps[:-1])
    gain = math.log(steps[0][3]["makespan_us"]) - math.log(steps[-1][3]["makespan_us"])
    assert sum(reward for _, reward, _, _ in steps) == pytest.approx(gain)
    for step, (observation, _, _, info) in enumerate(steps):
        np.testing.assert_array_equal(observation[:, 2], np.arange(groups) < step)
        np.testing.assert_array_equal(observation[:, 3], np.arange(groups) == step)
        np.testing.assert_array_equal(observation[:step, 4:].argmax(axis=1), actions[:step])
        np.testing.assert_array_equal(info["action_mask"], [1, 1])
    plan = env.plan()
    assert plan.makespan_us == steps[-1][3]["makespan_us"]
    assert plan.makespan_us == emplace.simulate(ptb, machine, plan.placement).makespan_us
    with pytest.raises(emplace.BadInput, match="ended"):
        env.step(0)
    assert (env.edges[:, 0] < env.edges[:, 1]).all() and len(env.edges)


def test_a_device_that_may_not_run_a_group_is_not_taken(diamond):
    machine = emplace.Machine([emplace.Device("x:0", "x", 1e6), emplace.Device("z:0", "z", 1e6)], bandwidth_bytes_per_us=100)
    env = emplace.gym.PlacementEnv(diamond, machine, max_groups=4)
    _, info = env.reset(seed=1)
    masked = 0
    for _ in range(env.observation_space.shape[0]):
        allowed = info["action_mask"][1]
        group = int(env.unwrapped._episodes.observe(0)[:, 3].argmax())
        observation, _, _, _, info = env.step(1)
        masked += not allowed
        assert observation[group, 5] == allowed
    assert masked == 1


def test_vector_environments_are_single_ones_side_by_side(ptb, machine):
    count, steps = 3, 40
    vector = emplace.gym.PlacementVectorEnv(ptb, machine, count, max_groups=16)
    singles = [emplace.gym.PlacementEnv(ptb, machine, max_groups=16) for _ in range(count)]
    observations, info = vector.reset(seed=5)
    assert vector.observation_space.contains(observations)
    for index, single in enumerate(singles):
        observation, _ = single.reset(seed=5 + index)
        np.testing.assert_array_equal(observation, observations[index])
    rng = np.random.default_rng(0)
    done = np.zeros(count, dtype=bool)
    episodes = 0
    for _ in range(steps):
        actions, ended = rng.integers(0, 2, count), done
        observations, rewards, done, truncated, info = vector.step(actions)
        assert not truncated.any()
        for index, single in enumerate(singles):
            if ended[index]:
                observation, told = single.reset()
                reward, ends = 0, False
                episodes += 1
            else:
                observation, reward, ends, _, told = single.step(int(actions[index]))
            np.testing.assert_array_equal(observation, observations[index])
            assert (reward, ends, told["makespan_us"]) == (rewards[index], done[index], info["makespan_us"][index])
    assert episodes >= count


def test_bad_arguments(ptb, machine):
    for start in ("best", "worst"):
        with pytest.raises(emplace.BadInput, match=f"start is '{start}', expected random or single"):
            emplace.gym.PlacementEnv(ptb, machine, start=start)
    with pytest.raises(emplace.BadInput, match="reward"):
        emplace.gym.PlacementEnv(ptb, machine, reward="euros")
    for number in (0, -1, 1.5):
        with pytest.raises(emplace.BadInput, match=f"num_envs is {number}, expected"):
            emplace.gym.PlacementVectorEnv(ptb, machine, number)
    for penalty in ("memory_penalty", "memory_penalty_cap"):
        for value in (-1.0, float("nan"), float("inf")):
            with pytest.raises(emplace.BadInput, match=rf"{penalty} is .*, expected 0\.\.1000000000$"):
                emplace.gym.PlacementEnv(ptb, machine, **{penalty: value})
    env = emplace.gym.PlacementEnv(ptb, machine)
    env.reset(seed=0)
    with pytest.raises(emplace.BadInput, match="expected a device, 0 to 1"):
        env.step(2)
    assert isinstance(env, gymnasium.Env)
    vector = emplace.gym.PlacementVectorEnv(ptb, machine, 2)
    before, _ = vector.reset(seed=1)
    with pytest.raises(emplace.BadInput, match="the action is 2, expected a device, 0 to 1"):
        vector.step(np.array([1, 2]))
    assert np.array_equal(vector.reset(seed=1)[0], before)
    after, *_ = vector.step(np.array([1, 1]))
    again = emplace.gym.PlacementVectorEnv(ptb, machine, 2)
    again.reset(seed=1)
    np.testing.assert_array_equal(again.step(np.array([1, 1]))[0], after)


def test_seeds_are_one_for_each_environment(ptb, machine):
    vector = emplace.gym.PlacementVectorEnv(ptb, machine, 3)
    with pytest.raises(emplace.BadInput, match="seed has 2 entries, expected one for each of 3 environments"):
        vector.reset(seed=[1, 2])


def test_a_reset_without_a_seed_goes_on_with_the_last_one(ptb, machine):
    vectors = [emplace.gym.PlacementVectorEnv(ptb, machine, 3) for _ in range(2)]
    first, second = ([vector.reset(seed=seed)[0] for seed in (1, None, None)] for vector in vectors)
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)
    assert not np.array_equal(first[0], first[1])
    # Environments that were never given a seed start each somewhere else.
    observations, _ = emplace.gym.PlacementVectorEnv(ptb, machine, 2).reset(seed=[None, None])
    assert not np.array_equal(observations[0], observations[1])
