"""Drives the generated client against a running server: HEADROOM_URL and HEADROOM_TOKEN say which and who asks."""

import http.server
import json
import os
import re
import threading
import unittest
import unittest.mock

import headroom_api
from headroom_api import Client, Refused

REACTION = {
    "name": "Reaction, from the generated client",
    "parameters": [
        {"name": "temperature", "type": "real", "low": 20, "high": 60, "unit": "°C"},
        {"name": "catalyst", "type": "categorical", "choices": ["A", "B"]},
    ],
    "objective": {"metric": "yield", "direction": "maximize", "unit": "%"},
    "constraints": [{"metric": "impurity", "op": "<=", "threshold": 0.5, "unit": "%"}],
}


class Away(http.server.BaseHTTPRequestHandler):
    """A server that is away at the first request, breaks off its answer to the second, and is there at the third. Its stream ends after each event."""

    seen: list = []

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.seen.append(self.headers["Idempotency-Key"])
        self.send_response(503 if len(self.seen) == 1 else 201)
        answer = json.dumps({"trials": []}).encode()
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer[:4] if len(self.seen) == 2 else answer)

    def do_PATCH(self):
        self.do_POST()

    def do_GET(self):
        self.seen.append(self.path)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'id: %d\ndata: {"seq": %d}\n\nid: 9\ndata: {"se' % (len(self.seen), len(self.seen)))

    def log_message(self, *_):
        pass


class Busy(http.server.BaseHTTPRequestHandler):
    """A server that has too much to do at every other request, and says how long to wait."""

    seen: list = []
    wait = "3"

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.seen.append(self.headers["Idempotency-Key"])
        busy = len(self.seen) % 2 == 1
        self.send_response(429 if busy else 200)
        if busy:
            self.send_header("Retry-After", self.wait)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


class TestClient(unittest.TestCase):
    def setUp(self):
        self.client = Client(os.environ["HEADROOM_URL"], os.environ["HEADROOM_TOKEN"])
        self.study = self.client.create_study(REACTION)["id"]

    def ask(self):
        return self.client.ask(self.study, {"count": 1})["trials"][0]

    def tell(self, trial, **metrics):
        return self.client.tell(self.study, trial["number"], {"metrics": metrics})

    def refused(self, status, operation, *arguments, **named):
        with self.assertRaises(Refused) as refused:
            operation(*arguments, **named)
        self.assertEqual(refused.exception.status, status)
        return refused.exception

    def test_every_operation_is_a_method(self):
        document = self.client.read_document(version="3.0")
        operations = [way["operationId"] for place in document["paths"].values() for way in place.values()]
        self.assertGreater(len(operations), 30)
        for operation in operations:
            name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", operation).lower()
            self.assertTrue(callable(getattr(self.client, name, None)), name)

    def test_a_study_from_its_making_to_its_recommendation(self):
        for impurity in (0.31, 0.2, 0.4):
            trial = self.ask()
            self.assertEqual(trial["status"], "suggested")
            told = self.tell(trial, **{"yield": 71.2, "impurity": {"value": impurity, "stddev": 0.02}})
            self.assertEqual((told["status"], told["metrics"]["impurity"]["stddev"], told["feasible"]), ("completed", 0.02, True))
        corrected = self.client.correct(self.study, 1, {"metrics": {"yield": 17.2}, "reason": "typo"})
        self.assertEqual((corrected["metrics"]["yield"]["value"], corrected["metrics"]["yield"]["original"]), (17.2, 71.2))
        impact = self.client.correct(self.study, 2, {"metrics": {"yield": None}, "reason": "perhaps"}, dry_run=True)["impact"]
        self.assertEqual(impact["trial"]["status"], "partial")
        self.assertEqual(self.client.read_trial(self.study, 2)["status"], "completed")
        page = self.client.list_trials(self.study, limit=2)
        self.assertEqual(([trial["number"] for trial in page["trials"]], page["next"]), ([1, 2], 2))
        state = self.client.read_state(self.study)
        self.assertEqual((state["round"], state["metrics"]["yield"]["count"]), (4, 3))
        before = self.client.read_state(self.study, at=1)
        self.assertEqual((before["round"], before["recommendation"]), (1, None))
        self.assertTrue(self.client.verify(self.study, {})["ok"])
        self.assertEqual(self.client.price(self.study, constraint="impurity")["threshold"], 0.5)
        with self.assertRaises(TypeError):
            self.client.price(self.study)  # of which limit has to be said

    def test_exports_come_back(self):
        self.tell(self.ask(), **{"yield": 71.2, "impurity": 0.31})
        table = self.client.export_csv(self.study)
        self.assertTrue(table.startswith("number,status,temperature,catalyst,yield,impurity,note\n1,completed,"), table)
        self.assertEqual(self.client.import_csv(self.study, table, dry_run=True)["rows"], 1)
        self.assertEqual(self.client.import_csv(self.study, table)["numbers"], [2])
        bundle = self.client.export_bundle(self.study)
        again = self.client.import_bundle(bundle)
        self.assertNotEqual(again["id"], self.study)
        self.assertEqual(again["hash"], bundle["hash"])

    def test_events_arrive_as_they_are_written(self):
        self.tell(self.ask(), **{"yield": 71.2})
        events = self.client.events(self.study, after=1)
        self.assertEqual([next(events)["kind"], next(events)["kind"]], ["chosen", "told"])
        events.close()

    def test_faults_name_their_fields(self):
        wrong = dict(REACTION, parameters=[{"name": "temperature", "type": "real", "low": 60, "high": 20}])
        refused = self.refused(422, self.client.create_study, wrong)
        self.assertIn("body.parameters[0].low", [fault["location"] for fault in refused.errors])
        self.assertIn("body.parameters[0].low: ", str(refused))
        refused = self.refused(422, self.tell, self.ask(), yeld=3)
        self.assertEqual([fault["location"] for fault in refused.errors], ["body.metrics.yeld"])
        self.refused(404, self.client.read_study, self.study + "/state")
        with self.assertRaises(ValueError):
            self.tell(self.ask(), **{"yield": float("nan")})

    def test_keys_and_versions(self):
        first = self.client.ask(self.study, {"count": 1}, idempotency_key="once")
        self.assertEqual(self.client.ask(self.study, {"count": 1}, idempotency_key="once"), first)
        self.refused(422, self.client.ask, self.study, {"count": 2}, idempotency_key="once")
        self.assertEqual(self.ask()["number"], 2)
        self.refused(412, self.client.ask, self.study, {"count": 1}, if_match='"1"')

    def test_who_is_told_to_wait_waits(self):
        server = http.server.HTTPServer(("127.0.0.1", 0), Busy)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        client = Client(f"http://127.0.0.1:{server.server_port}", "token")
        with unittest.mock.patch("headroom_api.time.sleep") as sleep:
            self.assertEqual(client.ask("study"), {})
            self.assertEqual(Busy.seen, [Busy.seen[0]] * 2)
            sleep.assert_called_once_with(3)
            Busy.wait = "60"  # as for a wrong token
            self.refused(429, client.ask, "study")
            self.assertEqual(len(Busy.seen), 3)
        server.shutdown()
        server.server_close()

    def test_what_is_not_answered_is_asked_again_under_its_key(self):
        headroom_api.PAUSE = 0
        server = http.server.HTTPServer(("127.0.0.1", 0), Away)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        client = Client(f"http://127.0.0.1:{server.server_port}", "token")
        self.assertEqual(client.ask("study"), {"trials": []})
        self.assertEqual(Away.seen, [Away.seen[0]] * 3)
        Away.seen.clear()
        self.refused(503, client.posterior, "study", {"points": []})  # no key, so not again
        self.assertEqual(len(Away.seen), 1)
        Away.seen.clear()
        events = client.events("study")
        self.assertEqual([next(events)["seq"], next(events)["seq"]], [1, 2])
        self.assertEqual(Away.seen, ["/api/v1/studies/study/events", "/api/v1/studies/study/events?after=1"])
        events.close()
        server.shutdown()
        server.server_close()


if __name__ == "__main__":
    unittest.main()
