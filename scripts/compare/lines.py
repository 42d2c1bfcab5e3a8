"""The lines by which `headroom rehearse -outside` talks with a tool: see docs/comparison.md."""
import json
import os
import sys


class Study:
    """What is to be found: settings, as columns of numbers or choices, and what is measured of them."""

    def __init__(self, study):
        # A remainder is what the others leave, and follows from them.
        self.parameters = [p for p in study["parameters"] if p["type"] != "remainder"]
        self.rows = study.get("candidates")  # None where any setting within the bounds may be measured
        self.untried = self.rows and list(self.rows)
        self.objective = study["objective"]
        self.limits = study.get("constraints", [])
        self.metrics = list(dict.fromkeys([self.objective["metric"]] + [c["metric"] for c in self.limits]))
        self.seed = study["seed"]
        if study.get("input_constraints"):
            raise SystemExit("this player cannot keep input constraints")

    def tried(self, settings):
        """Takes a row from those untried, which are all again once none is left."""
        if self.rows:
            self.untried = [row for row in self.untried if row != settings] or list(self.rows)

    def excess(self, metrics):
        """How far each limit is exceeded, in its metric's unit; at most 0 within it."""
        return [(metrics[c["metric"]]["value"] - c["threshold"]) * (1 if c["op"] == "<=" else -1) for c in self.limits]

    def best(self, read):
        """Of what was read, by number of trial, the number of the best reading of the objective within all limits; 0 where there is none."""
        sign = 1 if self.objective["direction"] == "maximize" else -1
        within = [n for n, metrics in read.items() if max(self.excess(metrics), default=0) <= 0]
        return max(within, key=lambda n: sign * read[n][self.objective["metric"]]["value"], default=0)


def play(name, make):
    """Plays a game to its end. make(Study, number of rows to start from) gives a player: ask() gives settings and whatever tell(settings, metrics, it) and
    fail(settings, it) are to get back, None for a row to start from. Readings are told when all of a trial have come."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints must not get between the lines

    def say(**answer):
        print(json.dumps(answer), file=out, flush=True)

    say(player=name)
    asked, read, whole = {}, {}, {}
    for line in sys.stdin:
        message = json.loads(line)
        if "study" in message:
            study = Study(message["study"])
            player = make(study, len(message["trials"]))
            asked = {trial["number"]: (trial["parameters"], None) for trial in message["trials"]}
        for trial in message["trials"]:
            n = trial["number"]
            settings, mine = asked[n]
            if trial.get("failed"):
                player.fail(settings, mine)
                continue
            read.setdefault(n, {}).update(trial["metrics"])
            if all(metric in read[n] for metric in study.metrics):
                whole[n] = read[n]
                player.tell(settings, read[n], mine)
        if message["ask"]:
            new = [player.ask() for _ in range(message["ask"])]
            for one in new:
                asked[len(asked) + 1] = one
            say(settings=[settings for settings, _ in new])
        else:
            say(recommended=study.best(whole))
