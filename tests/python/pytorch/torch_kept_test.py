"""A capture leaves the process and the model as they were, whether it succeeds or fails, and finds models inside of wrappers."""
import copy
import functools

import emplace
import emplace.torch
import pytest
import torch
from emplace.torch import exporting
from torch import nn
from torch._C import _functorch
from torch.utils._python_dispatch import TorchDispatchMode

MACHINE = emplace.Machine([emplace.Device("cpu:0", "cpu", 8e9)], bandwidth_bytes_per_us=5000)
X = torch.ones(2, 4)


class Passes(TorchDispatchMode):
    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        return op(*args, **(kwargs or {}))


LEFT_OPEN = {
    "vmap": lambda model: _functorch._vmap_increment_nesting(2, "error"),
    "grad": lambda model: _functorch._grad_increment_nesting(),
    "jvp": lambda model: _functorch._jvp_increment_nesting(),
    "no grad": lambda model: torch.set_grad_enabled(False),
    "autocast": lambda model: torch.autocast("cpu", torch.bfloat16).__enter__(),
    "dispatch mode": lambda model: Passes().__enter__(),
    "default device": lambda model: torch.set_default_device("meta"),
    "device": lambda model: torch.device("meta").__enter__(),
    "default dtype": lambda model: torch.set_default_dtype(torch.float64),
    "saved tensors": lambda model: torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x).__enter__(),
    "seed": lambda model: torch.manual_seed(3),
    "anomaly": lambda model: torch.autograd.set_detect_anomaly(True),
    "training": lambda model: model.eval(),
    "hook": lambda model: model.register_forward_hook(lambda *_: None),
    "attribute": lambda model: setattr(model, "cache", torch.zeros(3)),
    "buffer": lambda model: model.register_buffer("late", torch.zeros(3)),
    "parameter": lambda model: setattr(model.linear, "weight", nn.Parameter(torch.ones(4, 4))),
    "table": lambda model: model.tables.append(torch.zeros(3)),
}


class Leaves(nn.Module):
    """Leaves something open in its forward pass, and fails then if it is told to."""

    def __init__(self, leave, fails):
        super().__init__()
        self.linear, self.leave, self.fails, self.tables = nn.Linear(4, 4), leave, fails, []

    def forward(self, x):
        self.leave(self)
        if self.fails:
            raise ValueError("fails")
        return self.linear(x).sum()


def _state():
    return (_functorch.get_dynamic_layer_stack_depth(), torch.is_grad_enabled(), torch.is_autocast_enabled("cpu"), torch.empty(1).device.type,
            torch.get_default_dtype(), torch._C._autograd._top_saved_tensors_default_hooks(True), torch.get_rng_state().tolist(),
            torch.is_anomaly_enabled(), len(torch.utils._python_dispatch._get_current_dispatch_mode_stack()))


def _attributes(model):
    return [(name, module.training, list(module.__dict__), {key: id(value) for key, value in module.state_dict(keep_vars=True).items()},
             len(module._forward_hooks), len(getattr(module, "tables", ()))) for name, module in model.named_modules()]


@functools.lru_cache(maxsize=2)
def _table(length):
    return [torch.ones(length)]


@functools.cache
def _mask(length):
    return torch.ones(length)


@pytest.mark.parametrize("train", [False, True])
@pytest.mark.parametrize("function", [lambda x: x * _table(4)[0], lambda x: x * _mask(4)])
def test_functions_that_cache_keep_no_tensors_of_a_capture(function, train):
    layer = nn.Linear(4, 4)

    class Cached(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = layer

        def forward(self, x):
            return self.layer(function(x)).sum()

    for _ in range(2):
        graph = emplace.torch.capture(Cached(), (X,), train=train)
        assert function(X).tolist() == X.tolist()
        with emplace.torch.apply(Cached(), (X,), emplace.place(graph, MACHINE, progress=False)) as step:
            assert torch.equal(step(X).detach(), layer(X).sum())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("train", [False, True])
@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("left", LEFT_OPEN)
def test_what_a_model_leaves_open_is_closed(left, fails, train):
    model, next_model = Leaves(LEFT_OPEN[left], fails), nn.Linear(4, 4)
    before = _state(), _attributes(model)
    try:
        emplace.torch.capture(model, (X,), train=train)
        assert not fails
    except emplace.BadInput as error:
        assert "\n" not in str(error)
    assert (_state(), _attributes(model)) == before
    graph = emplace.torch.capture(next_model, (X,))
    assert [op["type"] for op in graph.ops].count("aten.addmm") == 1


def _net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))


class Angles:
    """A helper that is no module, and fills its table when it is first asked."""

    def __init__(self):
        self.table = None

    def __call__(self, length):
        if self.table is None:
            self.table = torch.arange(length, dtype=torch.float32)
        return self.table


class FillsTables(nn.Module):
    """Keeps tables in dicts of dicts and in a helper."""

    def __init__(self):
        super().__init__()
        self.linear, self.tables, self.angles = nn.Linear(4, 4), {"cos": {}}, (Angles(),)

    def forward(self, x):
        cos = self.tables["cos"].setdefault(x.shape[1], torch.cos(torch.arange(x.shape[1], dtype=torch.float32)))
        return (self.linear(x) * cos + self.angles[0](x.shape[1])).sum()


@pytest.mark.parametrize("train", [False, True])
def test_tables_below_attributes_keep_no_tensors_of_a_capture(train):
    torch.manual_seed(1)
    model, x = FillsTables(), torch.ones(3, 4)
    graphs = [emplace.torch.capture(model, (x,), train=train) for _ in range(2)]
    assert graphs[0].num_ops == graphs[1].num_ops
    assert model.tables == {"cos": {}} and model.angles[0].table is None
    torch.testing.assert_close(model(x), copy.deepcopy(model)(x))
    table = model.angles[0].table
    emplace.torch.capture(model, (x,), train=train)
    assert model.angles[0].table is table  # What it has made by itself stays.


class Compiled(nn.Module):
    """Has a compiled module, and one that compiles itself."""

    def __init__(self):
        super().__init__()
        self.first, self.second = torch.compile(_net()), _net()
        self.second.compile()

    def forward(self, x):
        return self.first(x) + self.second(x)


@pytest.mark.parametrize("wrap", [torch.compile, nn.DataParallel, lambda net: torch.compile(nn.DataParallel(net))])
def test_wrapped_models_are_the_models_inside(wrap):
    net = _net()
    graph = emplace.torch.capture(wrap(net), (X,))
    assert graph == emplace.torch.capture(net, (X,)) and graph.name == "Sequential"
    with emplace.torch.apply(wrap(net), (X,), emplace.place(graph, MACHINE, method="single")) as step:
        assert torch.equal(step(X), net(X))


def test_compiled_modules_in_a_model_are_recorded_and_not_compiled():
    model = Compiled()
    with emplace.torch.apply(model, (X,), emplace.place(emplace.torch.capture(model, (X,)), MACHINE, method="single")) as step:
        assert torch.equal(step(X), 2 * _net()(X))


class TwoNames(nn.Module):
    """Calls the CPU's one device by both of its names."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("offset", torch.ones(4, device="cpu:0"))

    def forward(self, x):
        positions = torch.arange(4, device="cpu:0") + torch.zeros(4, device=torch.device("cpu", 0))
        return (self.linear(x) + positions + self.offset.to("cpu:0")).sum()


@pytest.mark.parametrize("train", [False, True])
def test_cpu_and_cpu_0_are_one_device(train):
    model = TwoNames()
    graph = emplace.torch.capture(model, (X,), train=train)
    with emplace.torch.apply(model, (X,), emplace.place(graph, MACHINE, method="single")) as step:
        assert torch.equal(step(X), model(X))


class LooksUnlessExported(nn.Module):
    """Looks at the values of its mask where it is not exported, as models of transformers do."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 1)

    def forward(self, x, mask):
        if not torch.compiler.is_exporting() and mask.all():
            mask = None
        y = self.linear(x)
        return (y if mask is None else y * mask).sum()


@pytest.mark.parametrize("train", [False, True])
def test_a_model_that_looks_at_values_is_captured_as_exported(train, monkeypatch):
    model, mask = LooksUnlessExported(), torch.ones(2, 1)
    graph = emplace.torch.capture(model, (X, mask), train=train)
    assert any(op["type"] == "aten.mul" for op in graph.ops)
    assert not torch.compiler.is_exporting() and not torch.compiler.is_compiling()
    with emplace.torch.apply(model, (X, mask), emplace.place(graph, MACHINE, method="single")) as step:
        assert torch.equal(step(X, mask), model(X, mask))
    # A PyTorch without these flags.
    monkeypatch.setattr(exporting, "_FLAGS", ("_nobody",))
    with pytest.raises(emplace.BadInput, match="the model: aten.*needs the values of tensors"):
        emplace.torch.capture(model, (X, mask), train=train)


def test_pytorchs_own_assertions_name_module_op_and_what_to_do():
    class Opens(nn.Module):
        def forward(self, x):
            _functorch._vmap_increment_nesting(2, "error")
            return x * 2
    with pytest.raises(emplace.BadInput, match=r"PyTorch fails inside, after \S.*expected a model without what torch.export cannot do"):
        emplace.torch.capture(nn.Sequential(nn.Linear(4, 4), Opens()), (X,))
