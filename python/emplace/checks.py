"""Checks of arguments that are numbers. Each raises BadInput with the argument's name, its value, and what was expected."""
import math
import operator

from emplace._core import BadInput


def check_limit(name: str, value: float | None) -> None:
    """For a limit: None, or a finite number above 0."""
    if value is not None and not 0 < value < math.inf:
        raise BadInput(f"{name} is {value}, expected a number above 0")


def check_whole(name: str, value: int | None, least: int, bits: int = 31, *, optional: bool = False) -> None:
    """For a whole number of at least `least` and below 2^bits. optional: it may be None."""
    if optional and value is None:
        return
    try:
        is_fine = not isinstance(value, bool) and least <= operator.index(value) < 2**bits
    except TypeError:
        is_fine = False
    if not is_fine:
        raise BadInput(f"{name} is {value}, expected a whole number of at least {least} and below 2^{bits}")


def check_seed(name: str, value: int) -> None:
    check_whole(name, value, 0, 64)
