"""emplace.torch.read_fx: modules in files of their own."""
import json

import emplace
import emplace.torch
import pytest
import torch
from command_test import emplace_command

MODEL = """\
import torch
from torch import device

class GraphModule(torch.nn.Module):
    def forward(self, L_x_: torch.Tensor, L_self_modules_a_modules_0_parameters_weight_: torch.nn.parameter.Parameter,
                L_self_modules_a_modules_0_parameters_bias_: torch.nn.parameter.Parameter, s1: torch.SymInt,
                L_self_modules_a_buffers_steps_: torch.Tensor, L_self_modules_b_inner_parameters_weight_: torch.nn.parameter.Parameter,
                L_self_modules_b_scale: torch.Tensor):
        l_x_ = L_x_
        linear = torch._C._nn.linear(l_x_, L_self_modules_a_modules_0_parameters_weight_, L_self_modules_a_modules_0_parameters_bias_)
        l_x_ = None
        y = torch.nn.functional.relu(linear, inplace=False)
        arange = torch.arange(6, device=device(type="cuda", index=0), dtype=torch.float32)
        y_1 = y + arange
        scale = L_self_modules_b_scale[0].item()
        y_2 = y_1 * scale
        z = torch._C._nn.linear(y_2, L_self_modules_b_inner_parameters_weight_, None)
        z_1 = z.view(4, s1)
        return (z_1, L_self_modules_a_buffers_steps_)
"""


def meta(name, shape, dtype="torch.float32", data=None, mean=0.5, std=0.25):
    return f"""
class Program_weight_tensor_meta_{name}:
\tname = "{name}"
\tshape = {shape}
\tdtype = "{dtype}"
\tdevice = "cuda:0"
\tmean = {mean}
\tstd = {std}
\tdata = {data}
"""


METAS = [meta("L_x_", [4, 3]), meta("L_self_modules_a_modules_0_parameters_weight_", [6, 3]),
         meta("L_self_modules_a_modules_0_parameters_bias_", [6]),
         meta("s1", [], "torch.int64", [2]), meta("L_self_modules_a_buffers_steps_", [2], "torch.int64", [7, 8]),
         meta("L_self_modules_b_inner_parameters_weight_", [2, 6]), meta("L_self_modules_b_scale", [1], mean=3.0, std=0.0)]


@pytest.fixture
def sample(tmp_path):
    folder = tmp_path / "tiny"
    folder.mkdir()
    (folder / "model.py").write_text(MODEL)
    (folder / "weight_meta.py").write_text("".join(METAS))
    (folder / "input_meta.py").write_text("")
    return folder


def test_names_and_shapes_are_the_original_models(sample):
    model, args = emplace.torch.read_fx(sample)
    assert {name: list(tensor.shape) for name, tensor in model.named_parameters()} == {
        "a.0.weight": [6, 3], "a.0.bias": [6], "b_inner.weight": [2, 6]}
    assert {name: tensor.dtype for name, tensor in model.named_buffers()} == {"a.steps": torch.int64}
    assert [list(arg.shape) for arg in args] == [[4, 3], [1]] and all(arg.is_meta for arg in args)
    graph = emplace.torch.capture(model, args)
    named = {op["attrs"]["name"]: op for op in graph.ops if op["type"] == "emplace.parameter"}
    assert {"a.0.weight", "a.0.bias", "b_inner.weight"} <= named.keys()
    assert sum(op["param_bytes"] for op in named.values()) == 4 * (18 + 6 + 12) + 2 * 8
    # 4 rows by [3, 6] and by [6, 2]; the smaller ops are elementwise.
    products = [op["flops"] for op in graph.ops if op["type"] in ("aten.addmm", "aten.mm")]
    assert products == [2 * 4 * 3 * 6, 2 * 4 * 6 * 2]


def test_each_call_runs_in_the_module_of_the_weight_before_it(sample):
    model, args = emplace.torch.read_fx(sample, device="cpu")
    running, seen = [], []
    for name, module in model.named_modules():
        module.register_forward_pre_hook(lambda *_, name=name: running.append(name))
        module.register_forward_hook(lambda *_: (seen.append(running[-1]), running.pop())[1] and None)
    model(*args)
    assert [name for name in dict.fromkeys(seen) if name] == ["a.0", "b_inner"] and seen[-1] == ""


def test_it_computes_what_the_module_does(sample):
    model, args = emplace.torch.read_fx(sample, device="cpu")
    torch.testing.assert_close(model.get_buffer("a.steps"), torch.tensor([7, 8]))
    hidden = torch.relu(args[0] @ model.get_parameter("a.0.weight").T + model.get_parameter("a.0.bias")) + torch.arange(6)
    expected = 3.0 * hidden @ model.get_parameter("b_inner.weight").T
    torch.testing.assert_close(model(*args)[0], expected)
    machine = emplace.Machine([emplace.Device(f"cpu:{index}", "cpu", 1e9) for index in range(2)], bandwidth_bytes_per_us=1000)
    plan = emplace.place(emplace.torch.capture(model, args), machine, budget=10)
    torch.testing.assert_close(emplace.torch.apply(model, args, plan)(*args)[0], expected)


@pytest.mark.parametrize("microbatches", [1, 3])
def test_training(sample, microbatches):
    model, args = emplace.torch.read_fx(sample, train=True, microbatches=microbatches)
    # The file's shapes are those of one micro-batch.
    assert list(args[0].shape) == [4 * microbatches, 3] and list(args[1].shape) == [1]
    graph = emplace.torch.capture(model, args, train=True, microbatches=microbatches)
    products = sum(op["flops"] for op in graph.ops if op["type"] in ("aten.addmm", "aten.mm"))
    # Forward and backward: the first layer needs no gradient of its input.
    assert products == microbatches * 2 * 4 * (2 * 18 + 3 * 12)


def test_a_loss_is_the_first_output_where_it_is_one_number(sample):
    (sample / "model.py").write_text(MODEL.replace("return (z_1,", "return (z_1.sum(),"))
    model, args = emplace.torch.read_fx(sample, train=True, device="cpu")
    plain, _ = emplace.torch.read_fx(sample, device="cpu")
    plain.load_state_dict(model.state_dict())
    torch.testing.assert_close(model(*args), plain(*args)[0])


@pytest.mark.parametrize("arguments", [["tiny"], ["tiny/model.py", "--train", "--microbatches", "2", "--optimizer", "adam"]])
def test_the_command(sample, arguments):
    done = emplace_command("import", "fx", *arguments, "--out", "g.graph.json", "--json", folder=sample.parent)
    assert done.returncode == 0, done.stderr
    graph = emplace.Graph.load(sample.parent / "g.graph.json")
    assert json.loads(done.stdout)["ops"] == len(graph) and graph.name == "tiny"


def change(text, old, new):
    assert old in text
    return text.replace(old, new)


@pytest.mark.parametrize("file, make, error", [
    ("model.py", lambda text: None, "model.py: there is no such file"),
    ("model.py", lambda text: "x = (", "model.py: failed: SyntaxError"),
    ("model.py", lambda text: "import nothing_of_this_name", "failed: ModuleNotFoundError: No module named 'nothing_of_this_name'"),
    ("model.py", lambda text: "x = 3", "has the modules none, expected a class GraphModule"),
    ("model.py", lambda text: change(text, "    def forward", "    def __init__(self, size):\n        pass\n    def forward"),
     "GraphModule(): failed: TypeError"),
    ("model.py", lambda text: change(text, "view(4, s1)", "view(5, s1)"), "module 'b_inner' cannot be captured: RuntimeError"),
    ("weight_meta.py", lambda text: None, "has neither weight_meta.py nor input_meta.py"),
    ("weight_meta.py", lambda text: text + "class (", "weight_meta.py:64: is no Python file: "),
    ("weight_meta.py", lambda text: "", "describes the argument 'L_x_' of the module"),
    ("weight_meta.py", lambda text: change(text, '"s1"', "3"), "class Program_weight_tensor_meta_s1 has no name"),
    ("weight_meta.py", lambda text: change(text, "[4, 3]", "[4, -3]"), "weight_meta.py:2: shape is [4, -3], expected a list of whole numbers"),
    ("weight_meta.py", lambda text: change(text, "shape = [4, 3]", "size = 3"), "weight_meta.py:2: shape is None"),
    ("weight_meta.py", lambda text: change(text, "torch.int64", "torch.nn"), "dtype is 'torch.nn', expected one of PyTorch's"),
    ("weight_meta.py", lambda text: change(text, "data = [2]", "data = None"), "data is None, expected the number that this argument is"),
    ("weight_meta.py", lambda text: change(text, "data = [2]", "data = ['two']"), "data is ['two'], expected the number"),
])
def test_bad_files(sample, file, make, error):
    path = sample / file
    changed = make(path.read_text())
    if changed is None:
        for name in {file, "input_meta.py" if file == "weight_meta.py" else file}:
            (sample / name).unlink()
    else:
        path.write_text(changed)
    with pytest.raises(emplace.BadInput) as raised:
        emplace.torch.capture(*emplace.torch.read_fx(sample))
    assert error in str(raised.value) and "\n" not in str(raised.value)


def test_an_error_of_the_command_is_one_line(sample):
    (sample / "weight_meta.py").write_text("class (")
    done = emplace_command("import", "fx", "tiny", "--out", "g.graph.json", folder=sample.parent)
    assert done.returncode == 2 and "weight_meta.py:1: is no Python file" in done.stderr and done.stderr.count("\n") == 1, done.stderr
