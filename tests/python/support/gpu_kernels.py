"""What the kernels that only GPUs have compute, by their definitions on the CPU, so that graphs captured for GPUs run in tests."""
import contextlib
import math

import torch

_MASKED = -math.inf


def _scores(query, key, bias, is_causal, scale):
    """[batch, heads, length, keys] in f32: what the softmax of attention is taken of."""
    scores = query.float() @ key.float().mT * (scale or 1 / math.sqrt(query.size(3)))
    if bias is not None:
        scores = scores + bias.float()
    if is_causal:
        scores = scores.masked_fill(torch.ones(scores.shape[2:], dtype=torch.bool).triu(1), _MASKED)
    return scores


def _dropout(scores, probability, seed):
    """What the probabilities are multiplied with; `seed` decides it."""
    generator = torch.Generator().manual_seed(int(seed.flatten()[0]))
    return (torch.rand(scores.shape, generator=generator) >= probability) / (1 - probability)


def _by_head(tensor, heads):
    """The keys or values of each head; in groups, several heads have the same."""
    return tensor.repeat_interleave(heads // tensor.size(1), dim=1)


def _like(tensor, known):
    """The numbers of a tensor in the type and layout of another one of its shape."""
    return torch.empty_like(known).copy_(tensor)


def _by_rows(tensor, dtype):
    """The numbers of [batch, heads, length, width] laid out as [batch, length, heads, width]."""
    return tensor.to(dtype).transpose(1, 2).contiguous().transpose(1, 2)


def _forward(query, key, value, bias, dropout_p, is_causal, scale, seed):
    key, value = _by_head(key, query.size(1)), _by_head(value, query.size(1))
    scores = _scores(query, key, bias, is_causal, scale)
    out = (scores.softmax(-1) * _dropout(scores, dropout_p, seed)) @ value.float()
    return out, scores.logsumexp(-1)


def _backward(grad_out, query, key, value, bias, out, logsumexp, dropout_p, is_causal, scale, seed):
    """Gradients of query, key, value and scores in f32, by the formulas of the backward kernels; keys and values in groups."""
    groups, heads = key.size(1), query.size(1)
    key, value = _by_head(key, heads), _by_head(value, heads)
    scores, grad_out = _scores(query, key, bias, is_causal, scale), grad_out.float()
    dropped = _dropout(scores, dropout_p, seed)
    probabilities = (scores - logsumexp[..., :query.size(2), None]).exp()
    grad_value = (probabilities * dropped).mT @ grad_out
    row_sums = (grad_out * out.float()).sum(-1, keepdim=True)
    grad_scores = probabilities * (grad_out @ value.float().mT * dropped - row_sums)
    scaled = grad_scores * (scale or 1 / math.sqrt(query.size(3)))
    grad_key, grad_value = (grad.unflatten(1, (groups, heads // groups)).sum(2) for grad in (scaled.mT @ query.float(), grad_value))
    return scaled @ key.float(), grad_key, grad_value, grad_scores


def _flash_attention(query, key, value, dropout_p=0.0, is_causal=False, return_debug_mask=False, *, scale=None):
    state = torch.randint(2**31, (2,)).to(torch.uint64)
    out, logsumexp = _forward(query, key, value, None, dropout_p, is_causal, scale, state)
    return _like(out, query), logsumexp, None, None, query.size(2), key.size(2), state, torch.empty((), dtype=torch.uint64), query.new_empty(0)


def _flash_attention_backward(grad_out, query, key, value, out, logsumexp, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p, is_causal,
                              philox_seed, philox_offset, *, scale=None):
    assert (max_q, max_k) == (query.size(2), key.size(2))
    grads = _backward(grad_out, query, key, value, None, out, logsumexp, dropout_p, is_causal, scale, philox_seed)[:3]
    return tuple(_like(grad, known) for grad, known in zip(grads, (query, key, value), strict=True))


def _efficient_attention(query, key, value, attn_bias, compute_log_sumexp, dropout_p=0.0, is_causal=False, *, scale=None):
    seed = torch.randint(2**31, ())
    out, logsumexp = _forward(query, key, value, attn_bias, dropout_p, is_causal, scale, seed)
    padded = torch.nn.functional.pad(logsumexp, (0, -query.size(2) % 32))
    return _by_rows(out, query.dtype), padded if compute_log_sumexp else logsumexp[..., :0], seed, torch.zeros((), dtype=torch.int64)


def _efficient_attention_backward(grad_out, query, key, value, attn_bias, out, logsumexp, philox_seed, philox_offset, dropout_p,
                                  grad_input_mask, is_causal=False, *, scale=None):
    grads = _backward(grad_out, query, key, value, attn_bias, out, logsumexp, dropout_p, is_causal, scale, philox_seed)
    grad_bias = grads[3].to(query.dtype) if attn_bias is not None and grad_input_mask[3] else None
    return *(_by_rows(grad, query.dtype) for grad in grads[:3]), grad_bias


_KERNELS = {"_scaled_dot_product_flash_attention": _flash_attention,
            "_scaled_dot_product_flash_attention_backward": _flash_attention_backward,
            "_scaled_dot_product_efficient_attention": _efficient_attention,
            "_scaled_dot_product_efficient_attention_backward": _efficient_attention_backward}


@contextlib.contextmanager
def on_the_cpu():
    """Meanwhile the CPU has these kernels."""
    library = torch.library.Library("aten", "IMPL")
    try:
        for name, kernel in _KERNELS.items():
            library.impl(name, kernel, "CPU")
        yield
    finally:
        library._destroy()
