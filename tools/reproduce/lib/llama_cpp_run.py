"""Runs a model with llama.cpp, with the processor and RPC servers of this computer as devices, and says what it reports and how fast it is.

    python llama_cpp_run.py serve HOST:PORT                  a server with one thread
    python llama_cpp_run.py run MODEL CONTEXT STEPS FLAGS    prints {"buffers": {device: bytes}, "step_us": [...]}

FLAGS are those of `emplace flags llama.cpp`. Needs llama-cpp-python, built with CMAKE_ARGS=-DGGML_RPC=ON.
"""
import argparse
import collections
import ctypes
import json
import pathlib
import re
import shlex
import sys
import time

import llama_cpp

_LIBRARIES = pathlib.Path(llama_cpp.__file__).parent / "lib"
_CPU = 0  # GGML_BACKEND_DEVICE_TYPE_CPU
_MIB = 2**20


def _library(name: str) -> ctypes.CDLL:
    return ctypes.CDLL(str(_LIBRARIES / name), mode=ctypes.RTLD_GLOBAL)


_base, _ggml, _rpc, _cpu = (_library(f"libggml{part}.so") for part in ("-base", "", "-rpc", "-cpu"))
_pointer = ctypes.c_void_p
for function, arguments in ((_ggml.ggml_backend_dev_by_type, [ctypes.c_int]), (_rpc.ggml_backend_rpc_add_server, [ctypes.c_char_p]),
                            (_base.ggml_backend_reg_dev_get, [_pointer, ctypes.c_size_t]), (_base.ggml_backend_dev_buffer_type, [_pointer])):
    function.restype, function.argtypes = _pointer, arguments
_rpc.ggml_backend_rpc_start_server.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.POINTER(_pointer)]


class _Override(ctypes.Structure):
    _fields_ = [("pattern", ctypes.c_char_p), ("type", _pointer)]


def _serve(address: str) -> None:
    devices = (_pointer * 1)(_ggml.ggml_backend_dev_by_type(_CPU))
    _rpc.ggml_backend_rpc_start_server(address.encode(), None, 1, 1, devices)


def _options(flags: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    for name in ("--rpc", "-dev", "-sm", "-ts", "-ot", "-c"):
        parser.add_argument(name, default="")
    parser.add_argument("-ngl", type=int, default=0)
    return parser.parse_args(shlex.split(flags))


def _run(model: str, context: int, steps: int, flags: str) -> dict:
    options = _options(flags)
    servers = [_base.ggml_backend_reg_dev_get(_rpc.ggml_backend_rpc_add_server(address.encode()), 0)
               for address in options.rpc.split(",") if address]
    by_name = {f"RPC{index}": device for index, device in enumerate(servers)} | {"CPU": _ggml.ggml_backend_dev_by_type(_CPU)}
    log: list[str] = []
    keep = llama_cpp.llama_log_callback(lambda level, text, _: log.append(text.decode(errors="replace")))
    llama_cpp.llama_log_set(keep, _pointer(0))
    llama_cpp.llama_backend_init()

    parameters = llama_cpp.llama_model_default_params()
    used = [by_name[name] for name in options.dev.split(",") if name]
    devices = (_pointer * (len(used) + 1))(*used, None)
    shares = (ctypes.c_float * 128)(*(float(share) for share in (options.ts or "1").split(",")))
    addresses = [address for address in options.rpc.split(",") if address]
    by_buffer = {f"RPC0[{address}]": server for address, server in zip(addresses, servers, strict=True)} | {"CPU": by_name["CPU"]}
    overridden = [text for text in options.ot.split(",") if text]
    overrides = (_Override * (len(overridden) + 1))(*(
        (pattern.encode(), _base.ggml_backend_dev_buffer_type(by_buffer[target])) for pattern, _, target in
        (text.rpartition("=") for text in overridden)), (None, None))
    parameters.devices = ctypes.cast(devices, _pointer)
    parameters.tensor_split = ctypes.cast(shares, ctypes.POINTER(ctypes.c_float))
    parameters.tensor_buft_overrides = ctypes.cast(overrides, _pointer)
    parameters.n_gpu_layers, parameters.use_extra_bufts, parameters.load_mode = options.ngl, False, 0
    loaded = llama_cpp.llama_model_load_from_file(model.encode(), parameters)
    if not loaded:
        sys.exit("llama.cpp cannot load the model: " + "".join(log[-5:]))
    settings = llama_cpp.llama_context_default_params()
    settings.n_ctx, settings.n_threads, settings.n_threads_batch = context, 1, 1
    settings.n_batch = settings.n_ubatch = 512
    settings.flash_attn_type = 1  # On, as llama.cpp has it where devices have names of their own.

    made = llama_cpp.llama_init_from_model(loaded, settings)
    if not made:
        sys.exit("llama.cpp cannot make a context: " + "".join(log[-5:]))

    return {"buffers": _buffers_in("".join(log)), "step_us": _step_times_us(made, context, steps), "log": "".join(log)}


def _buffers_in(log: str) -> dict[str, float]:
    """{"DEVICE WHAT": bytes} of the buffers that llama.cpp reports, such as those of the model or of the cache on one device."""
    buffers: dict[str, float] = collections.Counter()
    for line in log.splitlines():
        found = re.search(r":\s+(\w+?)(?:_Mapped|_Host|\[[^]]*\])*\s+(model|KV|compute|output) buffer size =\s+([\d.]+) MiB", line)
        if found:
            buffers[f"{found[1]} {found[2]}"] += float(found[3]) * _MIB
    return dict(buffers)


def _step_times_us(made, context: int, steps: int) -> list[float]:
    """[steps] microseconds of each step that decodes one token, with a full cache: prompts before it fill all but the last places of the
    context, in chunks."""
    batch, position, times = llama_cpp.llama_batch_init(512, 0, 1), 0, []
    while position < context - steps:
        size = min(512, context - steps - position)
        _fill(batch, position, size)
        if llama_cpp.llama_decode(made, batch):
            sys.exit("llama.cpp cannot decode a prompt")
        position += size
    for _ in range(steps):
        _fill(batch, position, 1)
        began = time.perf_counter()
        if llama_cpp.llama_decode(made, batch):
            sys.exit("llama.cpp cannot decode")
        llama_cpp.llama_synchronize(made)
        times.append((time.perf_counter() - began) * 1e6)
        position += 1
    return times


def _fill(batch, position: int, size: int) -> None:
    batch.n_tokens = size
    for index in range(size):
        batch.token[index], batch.pos[index], batch.n_seq_id[index], batch.seq_id[index][0] = index % 50, position + index, 1, 0
        batch.logits[index] = index == size - 1


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        _serve(sys.argv[2])
    else:
        print(json.dumps(_run(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])))
