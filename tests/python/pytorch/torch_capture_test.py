"""emplace.torch.capture"""
import copy
import json

import emplace
import numpy as np
import pytest
import torch
import torch_models as models
from emplace.torch import tracing
from torch import fx, nn
from torch_models import Plain

MAKERS = [models.mlp, models.cnn, models.transformer]


class Calls(nn.Module):
    """Calls a function on one number for each example."""

    def __init__(self, function):
        super().__init__()
        self.inner, self.function = nn.Linear(2, 2), function

    def forward(self, x):
        return self.function(self.inner(x))


@pytest.mark.parametrize("make", MAKERS)
def test_shapes_alone_decide(make, tmp_path):
    torch.manual_seed(0)
    model, args = make()
    before = copy.deepcopy(model.state_dict())
    graph = emplace.torch.capture(model, args, train=True, optimizer="adam")
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, before[name]), name
    with torch.device("meta"):
        empty, shapes = make()
    assert emplace.torch.capture(empty, shapes, train=True, optimizer="adam") == graph and graph.name == type(model).__name__
    graph.save(tmp_path / "g.graph.json")
    assert emplace.Graph.load(tmp_path / "g.graph.json") == graph
    assert all("call" in op or op["type"].startswith("emplace.") for op in graph.ops)


def test_weights_are_in_memory_once():
    graph = emplace.torch.capture(nn.Linear(1000, 1000, bias=False), (torch.empty(1, 1000),))
    fits = {}
    for megabytes in (4.1, 4.0):
        machine = emplace.Machine([emplace.Device("gpu:0", "a100", megabytes * 1e6)], bandwidth_bytes_per_us=12000)
        run = emplace.simulate(graph, machine, np.zeros(graph.num_ops, int))
        # The weights, x and the product.
        assert run.peak_bytes[0] == 4 * 1000 * 1000 + 4 * 1000 + 4 * 1000
        fits[megabytes] = run.feasible
    assert fits == {4.1: True, 4.0: False}
    parameter = next(op for op in graph.ops if op["type"] == "emplace.parameter")
    assert parameter["outputs"][0]["resident"] is True


def test_parameters_hold_the_optimizers_state():
    model, args = models.mlp()
    sizes = {name: 4 * parameter.numel() for name, parameter in model.named_parameters()}
    for optimizer, copies in ((None, 1), ("sgd", 1), ("momentum", 2), ("adam", 3)):
        ops = {op["name"]: op for op in emplace.torch.capture(model, args, train=True, optimizer=optimizer).ops}
        for name, size in sizes.items():
            assert ops[name]["param_bytes"] == copies * size and ops[name]["outputs"][0]["bytes"] == size
            assert ops[name]["group"] == ops[f"{name}/gradient"]["group"]
            assert (f"{name}/update" in ops) == (optimizer is not None)


def test_an_update_waits_for_all_readers_of_its_parameter():
    model, args = models.mlp()
    graph = emplace.torch.capture(model, args, train=True, microbatches=2, optimizer="sgd")
    names = graph.op_names
    after = {name: {names[b] for a, b in graph.edges() if names[a] == name} for name in names}
    for name, _ in model.named_parameters():
        readers = after[name] - {f"{name}/update"}
        assert len(readers) >= 2
        for reader in readers:
            assert f"{name}/update" in after[reader]


def test_flops_of_a_linear_layer():
    # [6, 8] x [8, 16]: a multiply-add counts as two.
    graph = emplace.torch.capture(nn.Linear(8, 16), (torch.zeros(6, 8),))
    op = next(op for op in graph.ops if op["type"] == "aten.addmm")
    assert op["flops"] == 2 * 6 * 8 * 16 and op["outputs"] == [{"bytes": 6 * 16 * 4, "shape": [6, 16], "dtype": "f32"}]
    assert op["call"]["args"][2] == {"in": 2, "views": [["aten.t.default", []]]}
    assert set(op["cost_us"]) >= {"k80", "a100", "cpu"} and all(us > 0 for us in op["cost_us"].values())


def test_flops_of_grouped_convolutions_backwards():
    def flops(groups, transposed):
        layer = (nn.ConvTranspose2d if transposed else nn.Conv2d)(8, 16, 3, groups=groups)
        layers = nn.Sequential(nn.Conv2d(3, 8, 1), layer)
        graph = emplace.torch.capture(Plain(lambda x: layers(x).sum(), layers), (torch.zeros(2, 3, 9, 9),), train=True)
        return {kind: max(op["flops"] for op in graph.ops if op["type"] == f"aten.{kind}") for kind in ("convolution", "convolution_backward")}
    for transposed in (False, True):
        whole, grouped = flops(1, transposed), flops(8, transposed)
        assert whole["convolution_backward"] == 2 * whole["convolution"]
        assert grouped["convolution_backward"] == whole["convolution_backward"] / 8


def _in_four_groups(a, b):
    return torch._grouped_mm(a, b, offs=torch.arange(4, 17, 4, dtype=torch.int32))


@pytest.mark.parametrize("function, shapes, kind, flops", [
    (torch.nn.functional.bilinear, [(30, 4), (30, 5), (6, 4, 5)], "_trilinear", 2 * 30 * 4 * 5 * 6),
    (lambda a, b: torch._int_mm(a.to(torch.int8), b.to(torch.int8)), [(32, 16), (16, 64)], "_int_mm", 2 * 32 * 16 * 64),
    # Each of 16 rows is multiplied with one of four matrices; each of 12 columns with one of four; 16 products in four sums.
    (_in_four_groups, [(16, 8), (4, 8, 16)], "_grouped_mm", 2 * 16 * 8 * 16),
    (_in_four_groups, [(4, 8, 16), (16, 16)], "_grouped_mm", 2 * 8 * 16 * 16),
    (_in_four_groups, [(8, 16), (16, 24)], "_grouped_mm", 2 * 8 * 16 * 24),
    (torch.addbmm, [(4, 5), (7, 4, 6), (7, 6, 5)], "addbmm", 2 * 7 * 4 * 6 * 5),
    (torch.mv, [(4, 5), (5,)], "mv", 2 * 4 * 5),
    (torch.addmv, [(4,), (4, 5), (5,)], "addmv", 2 * 4 * 5),
    (torch.dot, [(50,), (50,)], "dot", 2 * 50),
    (torch.vdot, [(50,), (50,)], "vdot", 2 * 50),
    (torch.addr, [(4, 5), (4,), (5,)], "addr", 2 * 4 * 5),
    (torch.cdist, [(40, 9), (60, 9)], "_euclidean_dist", 2 * 40 * 60 * 9),
    (torch.conv_tbc, [(20, 3, 4), (5, 4, 6), (6,)], "conv_tbc", 2 * 16 * 3 * 5 * 4 * 6),
])
def test_flops_of_products_that_pytorch_does_not_count(function, shapes, kind, flops):
    dtype = torch.bfloat16 if kind == "_grouped_mm" else torch.float32
    graph = emplace.torch.capture(Plain(function), tuple(torch.zeros(shape, dtype=dtype) for shape in shapes))
    assert [op["flops"] for op in graph.ops if op["type"] == f"aten.{kind}"] == [flops]


# As transformers and torchvision define them.
@pytest.mark.parametrize("definition, shapes, result, flops", [
    ("grouped_mm_fallback(Tensor input, Tensor weight, Tensor offs) -> Tensor", [(640, 256), (4, 256, 512), (4,)], (640, 512),
     2 * 640 * 256 * 512),
    ("deform_conv2d(Tensor input, Tensor weight) -> Tensor", [(2, 16, 32, 32), (32, 16, 3, 3)], (2, 32, 30, 30),
     2 * 2 * 32 * 30 * 30 * 16 * 9),
])
def test_flops_of_products_of_other_libraries(definition, shapes, result, flops):
    name = f"emplace_test::{definition.partition('(')[0]}"
    torch.library.define(name, definition[definition.index("("):])
    torch.library.register_fake(name, lambda *given: given[0].new_empty(result))
    op = getattr(torch.ops.emplace_test, name.partition("::")[2])
    graph = emplace.torch.capture(Plain(op), tuple(torch.zeros(shape) for shape in shapes))
    assert [made["flops"] for made in graph.ops if made["type"].startswith("emplace_test.")] == [flops]


def test_costs_of_products_are_those_of_matrix_products():
    # 64 x 4,096 x 64 x 64 multiply-adds each.
    graph = emplace.torch.capture(nn.Bilinear(64, 64, 4096), (torch.zeros(64, 64), torch.zeros(64, 64)), kinds="a100")
    product = emplace.torch.capture(Plain(torch.mm), (torch.zeros(64, 4096), torch.zeros(4096, 4096)), kinds="a100")
    cost_us = {op["type"]: op["cost_us"]["a100"] for made in (graph, product) for op in made.ops if op.get("flops", 0) > 1e9}
    assert cost_us["aten._trilinear"] == pytest.approx(cost_us["aten.mm"], rel=0.01)


def test_what_an_lstm_keeps_for_its_backward_pass():
    for steps, batch, width, hidden in ((5, 3, 8, 6), (30, 4, 256, 64), (100, 10, 40, 256)):
        layer, x = nn.LSTM(width, hidden), torch.zeros(steps, batch, width)
        graph = emplace.torch.capture(Plain(lambda x: layer(x)[0].sum(), layer), (x,), train=True)
        workspace, = (op["outputs"][3]["bytes"] for op in graph.ops if op["type"] == "aten.mkldnn_rnn_layer")
        weights = [parameter.detach() for parameter in layer.parameters()]
        state = torch.zeros(1, batch, hidden)
        real = torch.ops.aten.mkldnn_rnn_layer(x, *weights, state, state, False, [], 2, hidden, 1, True, False, False, True)[3]
        assert workspace == pytest.approx(real.nbytes, rel=0.02, abs=8192)
        outputs = next(op["outputs"] for op in emplace.torch.capture(layer, (x,)).ops if op["type"] == "aten.mkldnn_rnn_layer")
        assert outputs[3]["bytes"] == 0  # Inference keeps nothing.


def test_what_sorts_reads_all():
    graph = emplace.torch.capture(Plain(lambda x: x[torch.topk(x, 2, dim=0).indices[0, :4]]), (torch.zeros(256, 16384),), kinds="k80")
    cost_us = {op["type"]: op["cost_us"]["k80"] for op in graph.ops if op["type"].startswith("aten.")}
    assert cost_us["aten.topk"] > 100 > 20 > cost_us["aten.index"]  # 16 MB are read, and some numbers.


def test_what_is_changed_in_place_is_said():
    model = Plain(lambda x, cache: cache.index_copy_(0, torch.tensor([2]), x).sum())
    with pytest.warns(UserWarning, match="changes argument 1 in place, and a step leaves it as it is"):
        emplace.torch.capture(model, (torch.ones(1, 8), torch.zeros(4, 8)))


@pytest.mark.parametrize("make", MAKERS)
def test_copies_of_micro_batches(make):
    model, args = make()
    one = emplace.torch.capture(model, args, train=True)
    four = emplace.torch.capture(model, args, train=True, microbatches=4)
    ops = {op["name"]: op for op in four.ops}
    copies = [op for op in four.ops if "copy_of" in op]
    originals = {op["copy_of"] for op in copies}
    assert len(copies) == 3 * len(originals)
    for op in copies:
        original = ops[op["copy_of"]]
        assert (op["type"], op["cost_us"], op["outputs"]) == (original["type"], original["cost_us"], original["outputs"])
        assert op["name"].split("/")[1:] == original["name"].split("/")[1:]
    parameters = [op["name"] for op in one.ops if op["type"] == "emplace.parameter"]
    assert [op["name"] for op in four.ops if op["type"] == "emplace.parameter"] == parameters
    # As many FLOPs in four quarters as in one whole, but for what does not depend on the batch.
    assert four.flops.sum() == pytest.approx(one.flops.sum(), rel=0.35)


@pytest.mark.parametrize("optimizer, state", [(None, None), ("sgd", 0), ("adam", 2)])
@pytest.mark.parametrize("make", MAKERS)
def test_micro_batches_have_replicas_of_parameters(make, optimizer, state):
    model, args = make()
    parts = 3
    args = tuple(torch.cat([arg[:1]] * 6) for arg in args)
    how = {"train": True, "microbatches": parts, "optimizer": optimizer}
    shared, graph = emplace.torch.capture(model, args, **how), emplace.torch.capture(model, args, **how, replicas=True)
    assert graph.flops.sum() == shared.flops.sum()
    ops = {op["name"]: op for op in graph.ops}
    param_bytes = dict(zip(graph.op_names, graph.param_bytes.tolist(), strict=True))
    changed = {op["attrs"]["name"] for op in graph.ops if op["type"] == "emplace.buffer"}
    # Nothing of one micro-batch reads what another one has, but for buffers that change, and nothing reads a parameter but ops of
    # its own micro-batch.
    for op in graph.ops:
        for name in (text.lstrip("^").rsplit(":", 1)[0] for text in op["inputs"]):
            if ops[name]["type"] == "emplace.parameter" and ops[name]["attrs"]["name"] not in changed:
                assert name.split("/")[0] == op["name"].split("/")[0], (name, op["name"])
    for name, parameter in model.named_parameters():
        for part in range(parts):
            replica, refresh = ops[f"part{part}/{name}"], ops[f"part{part}/{name}/refresh"]
            assert param_bytes[replica["name"]] == parameter.nbytes
            assert replica["group"] == refresh["group"] == f"part{part}/parameter {name}"
            readers = {f"^{op['name']}" for op in graph.ops if f"{replica['name']}:0" in op["inputs"]}
            assert set(refresh["inputs"]) == readers | {f"{name}/gradient:0" if optimizer is None else f"{name}/update:0"}
            assert replica.get("copy_of") == (f"part0/{name}" if part else None)
            assert refresh.get("copy_of") == (f"part0/{name}/refresh" if part else None)
        if optimizer is not None:
            assert param_bytes[f"{name}/update"] == (1 + state) * parameter.nbytes
            assert ops[f"{name}/update"]["inputs"] == [f"{name}/gradient:0"]


def test_data_parallel_sends_what_an_all_reduce_sends():
    model, args = models.mlp()
    graph = emplace.torch.capture(model, args, train=True, microbatches=2, optimizer="sgd", replicas=True)
    machine = emplace.Machine([emplace.Device(f"gpu:{index}", "v100", 1e12) for index in range(2)], bandwidth_bytes_per_us=1000)
    plan = emplace.place(graph, machine, method="data-parallel", progress=False)
    parameters = sum(parameter.nbytes for parameter in model.parameters())
    loss = 4
    assert plan.feasible and sum(transfer.bytes for transfer in plan.timeline().transfers) == 2 * parameters + loss


def test_a_tied_parameter_is_one():
    graph = emplace.torch.capture(*models.transformer(), train=True)
    names = graph.op_names
    assert "embedding.weight" in names and "head.weight" not in names and "embedding.weight/gradient" in names


def test_costs_follow_the_kinds_given(tmp_path):
    kind = (models.__file__, emplace.shipped.device_kinds_folder() / "k80.yaml")[1].read_text().replace("kind: k80", "kind: mine")
    (tmp_path / "mine.yaml").write_text(kind)
    model, args = models.mlp()
    graph = emplace.torch.capture(model, args, kinds=tmp_path)
    np.testing.assert_array_equal(graph.cost_us("mine"), emplace.torch.capture(model, args).cost_us("k80"))
    assert np.isnan(graph.cost_us("k80")).any()


@pytest.mark.parametrize("function, error", [
    (lambda x: x[x > 0], r"the model: aten\.nonzero\.default needs the values of tensors"),
    (lambda x: x * x.sum().item(), r"the model: aten\._local_scalar_dense\.default needs the values of tensors"),
    (lambda x: x.nonzero(), r"aten\.nonzero"),
    (lambda x: x @ x.new_zeros(3, 3), r"the model cannot be captured: RuntimeError"),
    (lambda x: x + torch.from_numpy(x.numpy()), r"the model: torch\.Tensor\.numpy needs the values of tensors"),
    (lambda x: x + torch.as_tensor(np.asarray(x)), r"the model: torch\.Tensor\.__array__ needs the values of tensors"),
    (lambda x: x + torch.tensor(x.tolist()), r"the model: torch\.Tensor\.tolist needs the values of tensors"),
    (lambda x: (x, {1, 2}), r"output 1 of the model is a set, expected tensors and plain values"),
])
def test_what_cannot_be_captured_is_named(function, error):
    with pytest.raises(emplace.BadInput, match=error) as raised:
        emplace.torch.capture(Calls(function), (torch.zeros(3, 2),))
    assert "\n" not in str(raised.value)


def test_a_model_for_training_does_not_see_values_either():
    with pytest.raises(emplace.BadInput, match=r"torch\.Tensor\.numpy needs the values of tensors"):
        emplace.torch.capture(Calls(lambda x: (x * float(x.detach().numpy().max())).sum()), (torch.zeros(3, 2),), train=True)
    np.testing.assert_array_equal(torch.ones(2).numpy(), np.asarray(torch.ones(2)))


def test_ops_that_stay_in_place_are_refused():
    graph = fx.Graph()
    node = graph.call_function(torch.ops.aten.relu_.default, (graph.placeholder("x"),))
    graph.output(node)
    trace = tracing.Trace(fx.GraphModule(nn.Module(), graph), modules={node: "layers.0"})
    with pytest.raises(emplace.BadInput, match=r"module 'layers\.0': aten\.relu_\.default changes a tensor in place"):
        tracing._refuse_in_place(trace)


@pytest.mark.parametrize("place", ["parameter", "buffer", "argument"])
def test_sparse_tensors_are_refused(place):
    sparse, x = torch.eye(2).to_sparse(), torch.zeros(3, 2)
    model = Calls(lambda x: x)
    if place == "parameter":
        model.table = nn.Parameter(sparse)
    elif place == "buffer":
        model.register_buffer("table", sparse)
    name = r"args\[0\]" if place == "argument" else "table"
    with pytest.raises(emplace.BadInput, match=f"'{name}' is a tensor of layout torch.sparse_coo, expected torch.strided"):
        emplace.torch.capture(model, (sparse if place == "argument" else x,))


class HeldInAList(nn.Module):
    """Uses the weight of its embedding once more, and not by its name."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(10, 4)
        self.tied = [self.embedding.weight]

    def forward(self, words):
        return nn.functional.linear(self.embedding(words), self.tied[0]).sum()


@pytest.mark.parametrize("train", [True, False])
def test_a_parameter_that_no_module_holds_is_refused(train):
    with pytest.raises(emplace.BadInput, match=r"a parameter of shape \[10, 4\] that is an attribute of no module .*nn.ParameterList"):
        emplace.torch.capture(HeldInAList(), (torch.tensor([1, 2]),), train=train)


def test_a_gradient_in_a_buffer_is_refused():
    class Cache(nn.Module):
        def __init__(self, detach):
            super().__init__()
            self.inner, self.detach = nn.Linear(2, 2), detach
            self.register_buffer("kept", torch.zeros(3, 4))

        def forward(self, x):
            out = self.inner(x)
            self.kept[:, 1:3] = out.detach() if self.detach else out
            return self.kept.sum() + out.sum()

    emplace.torch.capture(Cache(True), (torch.zeros(3, 2),), train=True)
    with pytest.raises(emplace.BadInput, match=r"requires a gradient in buffer 'kept'.*expected value.detach\(\) there"):
        emplace.torch.capture(Cache(False), (torch.zeros(3, 2),), train=True)


class Cache:
    def __init__(self, *tensors):
        self.layers = [{"keys": tensor} for tensor in tensors]


def test_an_argument_that_holds_tensors_is_refused():
    model = Plain(lambda x, cache: x + sum(layer["keys"] for layer in cache.layers))
    assert emplace.torch.capture(model, (torch.zeros(2), Cache())).num_ops == 3  # Its input, the sum and its output.
    with pytest.raises(emplace.BadInput, match="an argument is a Cache, whose tensors.*expected these tensors as arguments"):
        emplace.torch.capture(model, (torch.zeros(2), Cache(torch.ones(2))))


class MakesTables(nn.Module):
    """Makes a table when it is first called, and keeps it."""

    def __init__(self):
        super().__init__()
        self.layer, self.mask, self.tables = nn.Linear(8, 8), None, {}

    def forward(self, x):
        if self.mask is None:
            self.mask = torch.ones(5, 5).tril()
        if 5 not in self.tables:
            self.tables[5] = torch.arange(5.0)
        return (self.layer(x).transpose(1, 2).matmul(self.mask) + self.tables[5]).pow(2).mean()


@pytest.mark.parametrize("train", [False, True])
def test_a_model_may_make_tables_when_it_is_first_called(train):
    model, x = MakesTables(), torch.randn(2, 5, 8)
    assert "aten.tril" in {op["type"] for op in emplace.torch.capture(model, (x,), train=train).ops}
    assert model.mask is None and not model.tables
    model(x)  # From now on they are there.
    assert "aten.tril" not in {op["type"] for op in emplace.torch.capture(model, (x,), train=train).ops}


def test_modules_of_torchscript_are_refused():
    script, x = torch.jit.script(nn.Linear(2, 2)), torch.zeros(3, 2)
    for model, name in ((script, "the model"), (nn.Sequential(nn.Linear(2, 2), script), "module '1'")):
        with pytest.raises(emplace.BadInput, match=f"{name} is a RecursiveScriptModule of torch.jit.*expected the nn.Module"):
            emplace.torch.capture(model, (x,))


def test_the_module_that_cannot_be_captured_is_named():
    model = nn.Sequential(nn.Linear(2, 2), Calls(lambda x: x * x.max().item()))
    with pytest.raises(emplace.BadInput, match=r"module '1'.*_local_scalar_dense"):
        emplace.torch.capture(model, (torch.zeros(3, 2),))
    weight = model[0].weight
    assert isinstance(weight, nn.Parameter) and not weight.is_meta and type(weight.data) is torch.Tensor


@pytest.mark.parametrize("arguments, error", [
    ({"microbatches": 5}, "12 examples, expected a multiple of microbatches=5"),
    ({"microbatches": 0}, "microbatches is 0"),
    ({"microbatches": None}, "microbatches is None, expected a whole number of at least 1"),
    ({"microbatches": 2, "train": False}, "expected 1 without train=True"),
    ({"replicas": True, "train": True}, "replicas is True, expected False with microbatches=1"),
    ({"optimizer": "magic"}, "optimizer is 'magic'"),
    ({"kwargs": {"nobody": 1}}, "nobody"),
    ({"args": [1]}, "args is a list"),
    ({"args": ()}, "missing 2 required positional arguments"),
    ({"kinds": "/no/such/folder"}, "/no/such/folder"),
])
def test_bad_arguments(arguments, error):
    model, args = models.mlp()
    with pytest.raises(emplace.BadInput, match=error):
        emplace.torch.capture(model, **{"args": args, "train": True} | arguments)


def test_a_model_without_a_loss():
    with pytest.raises(emplace.BadInput, match=r"returns torch.float32 of shape \[3, 2\], expected its loss"):
        emplace.torch.capture(nn.Linear(2, 2), (torch.zeros(3, 2),), train=True)
    with pytest.raises(emplace.BadInput, match="model is a int"):
        emplace.torch.capture(3, ())


def test_a_deep_model_captures_and_places(machine):
    model, args = models.transformer(6)
    graph = emplace.torch.capture(model, args, train=True, microbatches=4, optimizer="adam")
    assert len(graph) > 1000 and json.loads(graph.to_json())["name"] == "Transformer"
    plan = emplace.place(graph, machine, budget=50, method="m-etf")
    assert plan.makespan_us <= plan.single_device_us


def test_a_model_that_fails_is_one_error_and_no_log(capfd):
    class Wrong(torch.nn.Module):
        def forward(self, x):
            return torch.mm(x, x)
    with pytest.raises(emplace.BadInput, match="cannot be captured"):
        emplace.torch.capture(Wrong(), (torch.randn(2, 3),))
    assert capfd.readouterr().err == ""
