#!/usr/bin/env python3
"""Prints what the package cmaes (PyPI, 0.13.1), an independent CMA-ES, makes of a few generations, for cma_test.cc.

make_cma_golden.py > tests/golden/files/cma.json
"""
import json

import numpy
from cmaes import CMA

PARAMETERS, POPULATION, GENERATIONS = 5, 8, 12


def loss(x: numpy.ndarray) -> float:
    """A valley that is bent and ill-conditioned, with equal values now and then."""
    scale = 10.0 ** numpy.linspace(0, 2, PARAMETERS)
    return float(numpy.round(numpy.sum(scale * (x - 1) ** 2) + 3 * x[0] * x[1], 1))


def main() -> None:
    cma = CMA(mean=numpy.zeros(PARAMETERS), sigma=0.5, population_size=POPULATION, seed=7)
    generations = []
    for _ in range(GENERATIONS):
        candidates = [cma.ask() for _ in range(POPULATION)]
        losses = [loss(x) for x in candidates]
        cma.tell(list(zip(candidates, losses)))
        generations.append({
            "candidates": numpy.concatenate(candidates).tolist(),
            "losses": losses,
            "mean": cma._mean.tolist(),
            "covariance": (cma._sigma**2 * cma._C).flatten().tolist(),
        })
    print(json.dumps({"parameters": PARAMETERS, "sigma": 0.5, "generations": generations}))


if __name__ == "__main__":
    main()
