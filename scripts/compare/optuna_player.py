"""Plays Optuna's samplers: optuna_player.py gp|tpe. Of a table it takes the untried row that the sampler's own acquisition function values most."""
import sys
import types

import numpy
import optuna
import scipy
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import GPSampler, TPESampler
from optuna.samplers._tpe.parzen_estimator import _ParzenEstimator

from lines import play


class GPOfRows(GPSampler):
    """The argmax over rows: _optimize_acqf is what Optuna leaves to be overridden."""

    def _optimize_acqf(self, acqf, best_params):
        rows = acqf.search_space.get_normalized_params([types.SimpleNamespace(params=row) for row in self.rows])
        return rows[numpy.argmax(acqf.eval_acqf_no_grad(rows))]


class TPEOfRows(TPESampler):
    """The rows stand for the samples of which TPE takes the best."""

    def _build_parzen_estimator(self, study, search_space, trials, handle_below):
        estimator = super()._build_parzen_estimator(study, search_space, trials, handle_below)
        estimator.sample = lambda rng, size: {
            name: numpy.array([distribution.to_internal_repr(row[name]) for row in self.rows]) for name, distribution in search_space.items()
        }
        return estimator


class Player:
    def __init__(self, kind, study, start):
        self.study, self.start, self.told = study, max(1, start), 0
        self.space = {p["name"]: self.distribution(p) for p in study.parameters}
        self.random = numpy.random.RandomState(study.seed)
        # The rows that a lab brings are the sampler's start.
        own = {"seed": study.seed, "n_startup_trials": self.start}
        if study.limits:
            own["constraints_func"] = lambda trial: trial.user_attrs["excess"]
        if kind == "gp":
            self.sampler = (GPOfRows if study.rows else GPSampler)(**own)
        else:
            self.sampler = TPEOfRows(multivariate=True, **own) if study.rows else TPESampler(**own)
        self.optuna = optuna.create_study(direction=study.objective["direction"], sampler=self.sampler)

    def distribution(self, p):
        if p["type"] == "categorical":
            return CategoricalDistribution(p["choices"])
        log = p.get("scale") == "log"
        if p["type"] == "integer":
            return IntDistribution(int(p["low"]), int(p["high"]), log=log)
        return FloatDistribution(p["low"], p["high"], log=log, step=None if log or self.study.rows else p.get("step"))

    def fixed(self, settings):
        """A trial of these settings."""
        self.optuna.enqueue_trial({name: settings[name] for name in self.space})
        return self.optuna.ask(self.space)

    def tell(self, settings, metrics, trial):
        if trial is None:
            trial = self.fixed(settings)
            self.study.tried(settings)
        trial.set_user_attr("excess", self.study.excess(metrics))
        self.optuna.tell(trial, metrics[self.study.objective["metric"]]["value"])
        self.told += 1

    def fail(self, settings, trial):
        self.optuna.tell(trial, state=optuna.trial.TrialState.FAIL)

    def ask(self):
        if not self.study.untried:
            trial = self.optuna.ask(self.space)
            return trial.params, trial
        if self.told < self.start:
            settings = self.study.untried[self.random.randint(len(self.study.untried))]
            trial = self.fixed(settings)
        else:
            self.sampler.rows = self.study.untried
            trial = self.optuna.ask(self.space)
            settings = min(self.study.untried, key=lambda row: self.distance(row, trial.params))  # which it is, but for rounding
        self.study.tried(settings)
        return settings, trial

    def distance(self, row, params):
        return sum(
            (row[name] != params[name]) if isinstance(d, CategoricalDistribution) else abs(row[name] - params[name]) / ((d.high - d.low) or 1)
            for name, d in self.space.items()
        )


kind = sys.argv[1]
assert kind in ("gp", "tpe"), "optuna_player.py gp or tpe"
optuna.logging.set_verbosity(optuna.logging.WARNING)
versions = f"Optuna {optuna.__version__}"
if kind == "gp":
    import torch

    versions += f" GPSampler, torch {torch.__version__}, scipy {scipy.__version__}"
else:
    versions += " TPESampler"
play(versions, lambda study, start: Player(kind, study, start))
