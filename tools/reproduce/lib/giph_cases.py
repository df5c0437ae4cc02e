"""Runs in an environment with what GiPH needs (torch, dgl, networkx, simpy, matplotlib), and imports its code:

  python giph_cases.py CHECKOUT PARAMETERS COUNT OUT.json [RUN]

Writes the first test cases of a file of parameters, in the order in which its own test takes them, with the placements that its code
finds for each: HEFT's, random ones, and those that a policy comes to whose training is in the folder RUN. There are as many random
ones as the policy may try, two for each node. Times are in its own unit."""
import argparse
import itertools
import json
import os
import pathlib
import pickle
import random
import sys

TEST_SEED = 123445  # The default of its main.py, by which it mixes the cases.


def described(program, network, allowed):
    """run: of each node the time on each device, or none where it may not run. edges: [source, reader, bytes]. delay and rate: between
    devices, what any tensor takes and what a byte takes."""
    from env.latency import computation_latency
    run = [[computation_latency(program, network, node, device).item() if device in allowed[node] else None
            for device in range(network.n_devices)] for node in range(program.n_operators)]
    edges = [[source, reader, program.data_bytes[source, reader].item()] for source, reader in program.P.edges]
    return {"run": run, "edges": edges, "delay": network.comm_delay.tolist(), "rate": network.comm_rate.tolist()}


def policy_of(run):
    """Its agent, with what a training has left in this folder."""
    import torch
    from placement_rl.placement_agent import PlacementAgent
    from placement_rl.placement_env import PlacementEnv
    settings = pickle.loads((run / "args.pkl").read_bytes())
    agent = PlacementAgent(PlacementEnv.get_node_feature_dim(), PlacementEnv.get_edge_feature_dim(), settings.output_dim,
                           device=torch.device("cpu"), hidden_dim=settings.hidden_dim)
    agent.policy.load_state_dict(torch.load(run / "policy.pk"))
    agent.embedding.load_state_dict(torch.load(run / "embedding.pk"))
    return agent


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("checkout", type=pathlib.Path)
    parser.add_argument("parameters", type=pathlib.Path)
    parser.add_argument("count", type=int)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("run", type=pathlib.Path, nargs="?")
    options = parser.parse_args()
    sys.path.insert(0, str(options.checkout))
    os.environ.setdefault("DGLBACKEND", "pytorch")
    import numpy as np
    import torch
    from experiment import networks_from_para, programs_from_para, run_episodes
    from placement_rl.baseline import heft
    from placement_rl.placement_env import PlacementEnv

    parameters = json.loads(options.parameters.read_text())
    of_test = parameters["testing"]
    networks = networks_from_para(of_test["networks"], parameters["num_of_types"])
    programs = programs_from_para(of_test["programs"], parameters["num_of_types"])
    cases = list(itertools.product(range(len(networks)), range(len(programs)), of_test["init_mapping"]))
    np.random.seed(TEST_SEED)
    np.random.shuffle(cases)
    env = PlacementEnv(networks, programs)
    agent = policy_of(options.run) if options.run else None
    torch.manual_seed(TEST_SEED)
    random.seed(TEST_SEED)
    written = []
    for network_id, program_id, seed in cases[:options.count]:
        network_id, program_id, seed = int(network_id), int(program_id), int(seed)
        network, program = networks[network_id], programs[program_id]
        allowed = env.get_placement_constraints(program_id, network_id)
        found = {"HEFT": [heft(program, network, allowed)]}
        if agent:
            [record] = run_episodes(env, agent, [program_id], [network_id], [seed], device=torch.device("cpu"), update_policy=False)
            found["GiPH"] = record["sampled_placement"]
        found["random"] = [env.random_mapping(program_id, network_id) for _ in range(2 * program.n_operators)]
        found = {method: [[int(device) for device in placement] for placement in placements] for method, placements in found.items()}
        written.append({"network": network_id, "program": program_id, **described(program, network, allowed), "placements": found})
    options.out.write_text(json.dumps(written))


if __name__ == "__main__":
    main()
