"""pipeline_by_gloo.py RANK FILE: runs, by torch.distributed.pipelining, a model that `pipeline_split` has divided in two.

modules_test.py starts a process for either rank; they meet by the file.
"""
import sys

import emplace
import torch
from torch import distributed
from torch.distributed.pipelining import ScheduleGPipe, SplitPoint, pipeline

torch.manual_seed(1)  # Both processes have the same model.
model = torch.nn.Sequential(*[torch.nn.Linear(8, 8) for _ in range(6)])
x = torch.randn(8, 8)
machine = emplace.Machine([emplace.Device(f"cpu:{index}", "cpu", 1e10) for index in range(2)], bandwidth_bytes_per_us=10_000)
names = emplace.place(emplace.torch.capture(model, (x,)), machine, budget=5).pipeline_split([str(index) for index in range(6)])

rank = int(sys.argv[1])
distributed.init_process_group("gloo", init_method=f"file://{sys.argv[2]}", rank=rank, world_size=2)
pipe = pipeline(model, mb_args=(x[:4],), split_spec={name: SplitPoint.BEGINNING for name in names})
schedule = ScheduleGPipe(pipe.build_stage(rank, torch.device("cpu")), n_microbatches=2)
if rank == 0:
    schedule.step(x)
else:
    torch.testing.assert_close(schedule.step(), model(x))
    print(f"split at {names}, equal")
distributed.destroy_process_group()
