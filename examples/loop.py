#!/usr/bin/env python3
"""A study from its making to its recommendation, one trial after another and then four at a time."""

import math
import os
import random
import sys

import headroom

try:
    study = headroom.create_study({
        "name": "Reaction, from Python",
        "parameters": [
            {"name": "temperature", "type": "real", "low": 20, "high": 60, "unit": "°C"},
            {"name": "catalyst", "type": "categorical", "choices": ["A", "B"]},
        ],
        "objective": {"metric": "yield", "direction": "maximize", "unit": "%"},
        "constraints": [{"metric": "impurity", "op": "<=", "threshold": 0.5, "unit": "%"}],
    })
except (headroom.Refused, OSError) as fault:  # no token, or no server
    sys.exit(f"The study was not made: {fault}")

lab = random.Random(7)


def run(settings):
    """The lab."""
    warm = settings["temperature"] - (48 if settings["catalyst"] == "A" else 41)
    return {
        "yield": 80 * math.exp(-(warm / 15) ** 2) + lab.gauss(0, 0.5),
        "impurity": {"value": 0.1 + (settings["temperature"] / 60) ** 4 + lab.gauss(0, 0.01), "stddev": 0.01},
    }


for _ in range(int(os.environ.get("TRIALS", "8"))):
    trial = study.ask()
    told = study.tell(trial, run(trial["parameters"]))
    print(f"trial {told['number']}: yield {told['metrics']['yield']['value']:.1f} %, within the limits: {told['feasible']}")

for trial in study.ask_batch(4):
    study.tell(trial, run(trial["parameters"]))

best = study.recommendation()
print("recommended:", best and best["parameters"])
