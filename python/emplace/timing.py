"""Wall times of something done several times."""
import time
from collections.abc import Callable


def times_us(run: Callable[[], object], repeats: int, warmup: int) -> list[float]:
    """Microseconds of each of so many calls, sorted; `warmup` calls before them do not count."""
    for _ in range(warmup):
        run()
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        run()
        times.append((time.perf_counter() - begin) * 1e6)
    return sorted(times)
