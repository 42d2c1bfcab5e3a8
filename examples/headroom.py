"""A client of Headroom on Python's standard library: copy this file beside your script.

    import headroom
    study = headroom.create_study({"name": "Reaction", "parameters": [...], "objective": {...}, "constraints": [...]})
    trial = study.ask()
    study.tell(trial, {"yield": 71.2, "impurity": {"value": 0.31, "stddev": 0.02}})

The server's address comes from HEADROOM_URL, an API token from HEADROOM_TOKEN.
"""

import http.client
import json
import os
import time
import urllib.error
import urllib.request
import uuid

TRIES = 5  # of a request that the server did not answer; a key lets it count once


class Refused(Exception):
    """What the server says is wrong: status, detail, and errors, each {"location", "message"}."""

    def __init__(self, status, problem):
        self.status = status
        self.detail = problem.get("detail", "")
        self.errors = problem.get("errors", [])
        super().__init__("; ".join(f"{e['location']}: {e['message']}" for e in self.errors) or self.detail)


def call(method, path, body=None):
    """Asks the API and returns its answer."""
    address = os.environ.get("HEADROOM_URL", "http://127.0.0.1:8080").rstrip("/") + "/api/v1" + path
    token = os.environ.get("HEADROOM_TOKEN")
    if not token:
        raise Refused(401, {"detail": "Put an API token into HEADROOM_TOKEN: export HEADROOM_TOKEN=$(bin/headroom token -name examples)"})
    headers = {"Authorization": "Bearer " + token, "Content-Type": "application/json"}
    if method == "POST":
        headers["Idempotency-Key"] = str(uuid.uuid4())
    data = None if body is None else json.dumps(body, allow_nan=False).encode()
    for attempt in range(TRIES):
        request = urllib.request.Request(address, data=data, headers=headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                text = answer.read()
                return json.loads(text) if text else None
        except urllib.error.HTTPError as error:
            if error.code not in (429, 502, 503, 504) or attempt == TRIES - 1:
                try:
                    problem = json.loads(error.read())
                except ValueError:
                    problem = {"detail": str(error)}
                raise Refused(error.code, problem) from None
        except (OSError, http.client.HTTPException):  # it cannot be reached, or broke off
            if attempt == TRIES - 1:
                raise
        time.sleep(0.5 * 2**attempt)


def create_study(definition):
    """Makes a study; the API's documentation says what a definition may hold."""
    return Study(call("POST", "/studies", definition)["id"])


class Study:
    def __init__(self, id):
        self.id = id

    def ask(self, **more):
        """The next trial: a dict with "number", "parameters" and the "decision" behind it. more: held, settings that are given,
        as in held={"temperature": 40}, of which the others are chosen."""
        return self.ask_batch(1, **more)[0]

    def ask_batch(self, count, **more):
        """Several trials to run at the same time."""
        return call("POST", f"/studies/{self.id}/ask", {"count": count, **more})["trials"]

    def tell(self, trial, metrics, **more):
        """Says what came out. trial is a trial or its number; more: parameters (those really used), note, observed_at.
        What was not measured is left out, and no NaN: a trial of which nothing came has failed."""
        return call("POST", f"/studies/{self.id}/trials/{_number(trial)}/tell", {"metrics": metrics, **more})

    def fail(self, trial, reason, cause="settings"):
        """Says that nothing came out: because of the settings, from which is learned where trials work, or by "chance"."""
        return call("POST", f"/studies/{self.id}/trials/{_number(trial)}/fail", {"reason": reason, "cause": cause})

    def correct(self, trial, metrics, reason):
        """Changes what was told; the ledger keeps both. A value of None takes one back."""
        return call("POST", f"/studies/{self.id}/trials/{_number(trial)}/corrections", {"metrics": metrics, "reason": reason})

    def state(self):
        return call("GET", f"/studies/{self.id}/state")

    def recommendation(self):
        """The settings expected to be best within every limit, or None while there are none."""
        return self.state()["recommendation"]

    def trials(self):
        """All trials, page after page."""
        after = 0
        while after is not None:
            page = call("GET", f"/studies/{self.id}/trials?after={after}")
            yield from page["trials"]
            after = page.get("next")


def _number(trial):
    return trial["number"] if isinstance(trial, dict) else trial
