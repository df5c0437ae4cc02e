"""How far a search is, on a terminal or in a notebook."""
import sys
from collections.abc import Callable


class SearchBar:
    """A progress bar of tqdm where that is installed and someone sees it; else nothing."""

    def __init__(self, wanted: bool | None, seconds: float):
        self._bar = None
        if not (wanted or (wanted is None and (sys.stderr.isatty() or "ipykernel" in sys.modules))):
            return
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return
        form = "{l_bar}{bar}| {n:.1f}/{total:.1f} s{postfix}" if seconds > 0 else "{n:.1f} s{postfix}"
        self._bar = tqdm(total=seconds or None, bar_format=form, leave=False)

    @property
    def show(self) -> Callable | None:
        return self._show if self._bar is not None else None

    def _show(self, seconds: float, evaluations: int, best_us: float, found_by: str) -> None:
        self._bar.n = min(seconds, self._bar.total or seconds)
        self._bar.set_postfix_str(f"{evaluations} placements, best {best_us / 1e3:.3f} ms, found by {found_by}")

    def __enter__(self) -> "SearchBar":
        return self

    def __exit__(self, *_) -> None:
        if self._bar is not None:
            self._bar.close()
