"""Which experts the tokens of a step reach: how many are read, and how often each."""
import json
import math
import os

from emplace._core import BadInput
from emplace.reading import read_json

_OF_SUM = 0.01  # By how much the shares of a layer may miss a sum of 1.


def read_routing(path: str | os.PathLike) -> dict[str, list[float]]:
    """Shares of tokens that each expert of a layer gets, from a JSON file such as {"blk.3": [0.4, 0.3, 0.2, 0.1]}.

    Layers that it leaves out treat their experts alike. Raises BadInput for what is no list of shares that add up to 1.
    """
    found = read_json(path)
    if not found:
        raise BadInput(f"{path}: holds no layers, expected such as {{\"blk.3\": [0.4, 0.3, 0.2, 0.1]}}")
    for layer, shares in found.items():
        place = f"{path}: {layer}"
        if not isinstance(shares, list) or not all(isinstance(share, (int, float)) and not isinstance(share, bool)
                                                   and 0 <= share <= 1 for share in shares):
            raise BadInput(f"{place} is {json.dumps(shares)[:60]}, expected a list of shares from 0 to 1")
        if not math.isclose(sum(shares), 1, abs_tol=_OF_SUM):
            raise BadInput(f"{place}: the shares add up to {sum(shares):.3f}, expected 1")
    return found


def reached(tokens: int, used: int, shares: list[float]) -> list[float]:
    """For each expert the probability that at least one of the tokens reaches it.

    tokens: each is sent to `used` different experts, independently of the others. shares: the share of all that each expert gets.
    """
    return [1 - (1 - min(1.0, used * share)) ** tokens for share in shares]
