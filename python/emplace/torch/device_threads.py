"""The threads of a step's devices, and the memory that they keep from step to step."""
import ctypes
import functools
import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import torch

# Of glibc's malloc.h.
_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD = -1, -2, -3


@functools.cache
def keep_freed_memory() -> None:
    """Lets the C library keep the memory that a step frees for the next step. It would give that of a device's thread back to the
    system, and the system clear each page anew, for a tenth of the processor time of a step."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # glibc has it.
    if mallopt is not None:
        for setting, number_of_bytes in ((_M_TRIM_THRESHOLD, 2**31 - 1), (_M_TOP_PAD, 64 << 20), (_M_MMAP_THRESHOLD, 32 << 20)):
            mallopt(setting, number_of_bytes)


# Held while a thread sets its number of PyTorch's threads, so that no other device's thread begins with that number.
_setting_threads = threading.Lock()


def prepare_thread(device: torch.device, cores: Sequence[int] | None) -> None:
    """Makes the calling thread that of a device. cores: to which it and PyTorch's threads under it are bound; None: to none."""
    torch.set_grad_enabled(False)
    if device.type == "cuda":
        torch.cuda.set_device(device)
    with _setting_threads:
        usual = torch.get_num_threads()  # What a new thread takes. From here on this thread keeps its own number.
        if cores is None:
            return
        torch.set_num_threads(len(cores))
        # A thread that begins later takes the number that was set last in the process, and with another number its results may
        # differ in their last bits. So the usual number is set again, by a thread that then ends.
        with ThreadPoolExecutor(1) as other:
            other.submit(torch.set_num_threads, usual).result()
    os.sched_setaffinity(0, cores)
