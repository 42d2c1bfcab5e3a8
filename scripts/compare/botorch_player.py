"""Plays BoTorch's qLogNoisyExpectedImprovement with outcome constraints; of a table it takes the best untried row. Standard deviations told are used."""
import importlib.metadata

import torch
from botorch.acquisition.logei import qLogNoisyExpectedImprovement
from botorch.acquisition.objective import GenericMCObjective
from botorch.fit import fit_gpytorch_mll
from botorch.models import ModelListGP, SingleTaskGP
from botorch.models.transforms import Standardize
from botorch.optim import optimize_acqf, optimize_acqf_discrete
from botorch.utils.sampling import draw_sobol_samples
from gpytorch.mlls import SumMarginalLogLikelihood

from lines import play

torch.set_default_dtype(torch.double)


class Player:
    def __init__(self, study, start):
        torch.manual_seed(study.seed)
        self.study = study
        self.x, self.read = [], []

    def unit(self, settings):
        """A setting in the unit cube: numbers by their bounds, on their scale; a category by one axis for each choice."""
        x = []
        for p in self.study.parameters:
            value = settings[p["name"]]
            if p["type"] == "categorical":
                x += [float(value == choice) for choice in p["choices"]]
            else:
                low, high, value = (self.scaled(p, v) for v in (p["low"], p["high"], value))
                x.append((value - low) / (high - low))
        return x

    @staticmethod
    def scaled(p, value, back=False):
        if p.get("scale") != "log":
            return value
        return 10**value if back else torch.tensor(value).log10().item()

    def settings(self, u):
        out = {}
        for p, x in zip(self.study.parameters, u):
            low, high = self.scaled(p, p["low"]), self.scaled(p, p["high"])
            value = min(max(self.scaled(p, low + x * (high - low), back=True), p["low"]), p["high"])
            out[p["name"]] = round(value) if p["type"] == "integer" else value  # Headroom rounds to steps
        return out

    def tell(self, settings, metrics, _):
        self.x.append(self.unit(settings))
        self.read.append(metrics)
        self.study.tried(settings)

    def fail(self, settings, _):
        pass  # a row that failed is tried, and of a failure the acquisition function knows nothing

    def ask(self):
        if self.study.rows is None and any(p["type"] == "categorical" for p in self.study.parameters):
            raise SystemExit("this player takes categories of tables only")
        acquisition = self.acquisition() if len(self.x) > 1 else None
        settings = self.of_rows(acquisition) if self.study.untried else self.anywhere(acquisition)
        self.study.tried(settings)
        return settings, None

    def of_rows(self, acquisition):
        if acquisition is None:
            return self.study.untried[torch.randint(len(self.study.untried), ()).item()]
        units = torch.tensor([self.unit(row) for row in self.study.untried])
        chosen, _ = optimize_acqf_discrete(acquisition, 1, units)
        return self.study.untried[(units - chosen).abs().sum(-1).argmin().item()]

    def anywhere(self, acquisition):
        bounds = torch.tensor([[0.0], [1.0]]).expand(2, len(self.study.parameters))
        if acquisition is None:
            return self.settings(draw_sobol_samples(bounds, 1, 1)[0, 0].tolist())
        chosen, _ = optimize_acqf(acquisition, bounds, q=1, num_restarts=4, raw_samples=256, options={"maxiter": 50})
        return self.settings(chosen[0].tolist())

    def acquisition(self):
        x, sign = torch.tensor(self.x), 1 if self.study.objective["direction"] == "maximize" else -1
        models = []
        for metric in self.study.metrics:
            read = [m[metric] for m in self.read]
            told = all("stddev" in r for r in read)
            variance = {"train_Yvar": torch.tensor([[r["stddev"] ** 2] for r in read])} if told else {}
            models.append(SingleTaskGP(x, torch.tensor([[float(r["value"])] for r in read]), outcome_transform=Standardize(1), **variance))
        joint = ModelListGP(*models)
        fit_gpytorch_mll(SumMarginalLogLikelihood(joint.likelihood, joint))
        limits = [
            lambda y, i=self.study.metrics.index(c["metric"]), c=c: (y[..., i] - c["threshold"]) * (1 if c["op"] == "<=" else -1)
            for c in self.study.limits
        ]
        return qLogNoisyExpectedImprovement(
            joint, x, objective=GenericMCObjective(lambda y, X=None: sign * y[..., 0]), constraints=limits or None, prune_baseline=True
        )


versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("botorch", "gpytorch", "torch", "scipy"))
play("BoTorch qLogNEI: " + versions, Player)
