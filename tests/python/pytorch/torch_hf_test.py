"""Models of transformers called as their pages do; skipped where transformers is not installed."""
import copy

import emplace
import emplace.torch
import pytest
import torch

transformers = pytest.importorskip("transformers")
MACHINE = emplace.Machine([emplace.Device("cpu:0", "cpu", 8e9)], bandwidth_bytes_per_us=5000)
SIZES = {"vocab_size": 120, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "pad_token_id": 0}


def _batch(train):
    ids = torch.randint(3, 120, (4, 12))
    mask = torch.ones_like(ids)
    mask[1, -3:] = 0
    return {"input_ids": ids, "attention_mask": mask} | ({"labels": ids} if train else {})


@pytest.mark.parametrize("name", ["llama", "bert", "gpt2"])
@pytest.mark.parametrize("train", [False, True])
def test_a_tokenizers_batch(name, train):
    torch.manual_seed(0)
    auto = transformers.AutoModelForMaskedLM if name == "bert" else transformers.AutoModelForCausalLM
    model, batch = auto.from_config(transformers.AutoConfig.for_model(name, **SIZES)).train(train), _batch(train)
    plain = copy.deepcopy(model)
    graph = emplace.torch.capture(model, (), batch, train=train)
    plan = emplace.Plan.of(graph, MACHINE, [0] * len(graph), order={"cpu:0": graph.op_names})
    with emplace.torch.apply(model, (), plan, kwargs=batch) as step:
        torch.manual_seed(1)
        placed = step(**batch)
    torch.manual_seed(1)
    expected = plain(**batch)
    if not train:
        assert torch.equal(placed.logits, expected.logits)
        return
    expected.loss.backward()
    assert torch.equal(placed, expected.loss)
    for (key, parameter), other in zip(model.named_parameters(), plain.parameters(), strict=True):
        assert torch.equal(parameter.grad, other.grad), key


def test_gradient_checkpointing_enable():
    counts = {}
    for again in (False, True):
        model = transformers.AutoModelForCausalLM.from_config(transformers.AutoConfig.for_model("llama", **SIZES)).train()
        if again:
            model.gradient_checkpointing_enable()
        graph = emplace.torch.capture(model, (), _batch(True), train=True)
        counts[again] = sum(op["type"] in ("aten.mm", "aten.addmm") for op in graph.ops)
    # Seven products in each of two layers; recomputation ends before the last one.
    assert counts[True] - counts[False] >= 2 * 6
