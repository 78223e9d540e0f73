"""The metrics pages through Prometheus's own text parser: families, histograms, and counters that
grow by exactly what was sent. Source: v2-protocol.md 4; tfserving.md 3.7. Test time only."""
import json
import math
import unittest
import urllib.error
import urllib.request

import numpy as np
import tritonclient.http as http
from prometheus_client.parser import text_string_to_metric_families
from serval_case import HTTP, ServalCase
from tritonclient.utils import InferenceServerException

OURS = "/metrics"
TENSORFLOW = "/monitoring/prometheus/metrics"
TIMEOUT_SECONDS = 60
REQUEST = "serval_request_duration_seconds"
HISTOGRAMS = (REQUEST, "serval_queue_duration_seconds", "serval_compute_input_duration_seconds",
              "serval_compute_infer_duration_seconds", "serval_compute_output_duration_seconds")


def get(path):
    with urllib.request.urlopen(f"http://{HTTP}{path}", timeout=TIMEOUT_SECONDS) as answer:
        return answer.headers, answer.read().decode()


def families(path):
    return list(text_string_to_metric_families(get(path)[1]))


def name_of(family, sample):
    """As on the page: the parser adds _total to counters that lack it."""
    return family.name if family.type == "counter" else sample.name


def samples(path):
    """{(name, sorted labels): value}; a sample given twice is an error."""
    found = {}
    for family in families(path):
        for sample in family.samples:
            key = (name_of(family, sample), tuple(sorted(sample.labels.items())))
            if key in found:
                raise AssertionError(f"{key} twice")
            found[key] = sample.value
    return found


def total(values, name, **labels):
    return sum(value for (each, pairs), value in values.items()
               if each == name and labels.items() <= dict(pairs).items())


def buckets(values, name, **labels):
    """[(upper bound, cumulative count)] of one series, ascending."""
    found = {}
    for (each, pairs), value in values.items():
        if each == f"{name}_bucket" and labels.items() <= dict(pairs).items():
            bound = float(dict(pairs)["le"])
            found[bound] = found.get(bound, 0) + value
    return sorted(found.items())


def quantile(share, cumulative):
    """As PromQL's histogram_quantile: linear inside the bucket."""
    rank = share * cumulative[-1][1]
    low, below = 0.0, 0.0
    for bound, count in cumulative:
        if count >= rank:
            if math.isinf(bound):
                return low
            return low + (bound - low) * (rank - below) / max(count - below, 1e-300)
        low, below = bound, count
    raise AssertionError("an empty histogram")


class MetricsCase(ServalCase):
    def setUp(self):
        self.client = http.InferenceServerClient(HTTP)
        self.addCleanup(self.client.close)

    def infer(self, model, name, array, datatype="FP32"):
        tensor = http.InferInput(name, list(array.shape), datatype).set_data_from_numpy(array)
        return self.client.infer(model, [tensor])

    def predict(self, model, body):
        request = urllib.request.Request(f"http://{HTTP}/v1/models/{model}:predict",
                                         data=body.encode(), method="POST")
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:
            return json.loads(answer.read())


class Format(MetricsCase):
    def test_content_type(self):
        self.assertRegex(get(OURS)[0]["Content-Type"], r"^text/plain; version=0\.0\.4")
        self.assertRegex(get(TENSORFLOW)[0]["Content-Type"], r"^text/plain")

    def test_every_family_has_a_type_and_appears_once(self):
        for path in (OURS, TENSORFLOW):
            self.predict("half_plus_three", '{"instances": [1.0]}')
            found = families(path)
            names = [family.name for family in found]
            self.assertEqual(len(names), len(set(names)), path)
            self.assertGreater(len(samples(path)), 0)
            for family in found:
                self.assertIn(family.type, ("counter", "gauge", "histogram"), family.name)

    def test_histograms_are_cumulative(self):
        self.predict("half_plus_three", '{"instances": [1.0]}')
        for path in (OURS, TENSORFLOW):
            seen = 0
            for family in families(path):
                if family.type != "histogram":
                    continue
                series = {}
                for sample in family.samples:
                    key = tuple(sorted((k, v) for k, v in sample.labels.items() if k != "le"))
                    one = series.setdefault(key, {"buckets": []})
                    if sample.name.endswith("_bucket"):
                        one["buckets"].append((float(sample.labels["le"]), sample.value))
                    else:
                        one[sample.name.rpartition("_")[2]] = sample.value
                for key, one in series.items():
                    seen += 1
                    bounds, counts = zip(*one["buckets"])
                    self.assertEqual(list(bounds), sorted(set(bounds)), (family.name, key))
                    self.assertEqual(list(counts), sorted(counts), (family.name, key))
                    self.assertTrue(math.isinf(bounds[-1]), (family.name, key))
                    self.assertEqual(counts[-1], one["count"], (family.name, key))
                    self.assertGreaterEqual(one["sum"], 0)
            self.assertGreater(seen, 0, path)

    def test_unknown_names_make_no_series(self):
        before = {path: set(samples(path)) for path in (OURS, TENSORFLOW)}
        for index in range(20):
            with self.assertRaises(urllib.error.HTTPError):
                self.predict(f"no_such_model_{index}", '{"instances": [1.0]}')
            with self.assertRaises(InferenceServerException):
                self.infer(f"no_such_model_{index}", "x", np.float32([1]))
        for path in (OURS, TENSORFLOW):
            new = set(samples(path)) - before[path]
            self.assertEqual([key for key in new if "no_such_model" in str(key)], [])

    def test_the_tensorflow_page_takes_no_query(self):
        with self.assertRaises(urllib.error.HTTPError) as caught:
            get(f"{TENSORFLOW}?name=x")
        self.assertEqual(caught.exception.code, 400)


class Counters(MetricsCase):
    def grown(self, path, send):
        before = samples(path)
        send()
        after = samples(path)
        return lambda name, **labels: total(after, name, **labels) - total(before, name, **labels)

    def test_requests_rows_and_runs(self):
        def send():
            for rows in (1, 2, 3, 4):
                self.infer("mlp", "input", np.zeros((rows, 784), np.float32))
        grown = self.grown(OURS, send)
        labels = {"model": "mlp", "version": "1"}
        self.assertEqual(grown("nv_inference_request_success", **labels), 4)
        self.assertEqual(grown("nv_inference_count", **labels), 10)
        self.assertEqual(grown("nv_inference_exec_count", **labels), 4)
        self.assertEqual(grown("nv_inference_request_failure", **labels), 0)
        self.assertEqual(grown("nv_inference_request_success", model="half_plus_three"), 0)
        for name in HISTOGRAMS:
            self.assertEqual(grown(f"{name}_count", **labels), 4, name)
        for part in ("request", "compute_infer"):
            self.assertGreater(grown(f"nv_inference_{part}_duration_us", **labels), 0, part)
        self.assertEqual(grown("serval_batch_rows_count", **labels), 4)
        self.assertEqual(grown("serval_batch_rows_sum", **labels), 10)

    def test_failures_by_reason(self):
        def send():
            for _ in range(3):
                with self.assertRaises(InferenceServerException):
                    self.infer("fails_at_run", "index", np.int64([7]), "INT64")
        grown = self.grown(OURS, send)
        self.assertEqual(grown("nv_inference_request_failure", model="fails_at_run"), 3)
        self.assertEqual(grown("nv_inference_request_success", model="fails_at_run"), 0)
        reasons = {dict(pairs)["reason"] for (name, pairs) in samples(OURS)
                   if name == "nv_inference_request_failure"}
        self.assertEqual(reasons, {"REJECTED", "CANCELED", "BACKEND", "OTHER"})

    def test_every_protocol_counts(self):
        def send():
            self.predict("half_plus_three", '{"instances": [1.0, 2.0]}')
            self.infer("half_plus_three", "x", np.float32([1, 2, 5]))
        grown = self.grown(OURS, send)
        self.assertEqual(grown("nv_inference_request_success", model="half_plus_three"), 2)

    def test_tensorflow_names(self):
        def send():
            for _ in range(5):
                self.predict("half_plus_three", '{"instances": [1.0]}')
            with self.assertRaises(urllib.error.HTTPError):
                self.predict("half_plus_three", '{"instances": ["x"]}')
        grown = self.grown(TENSORFLOW, send)
        count = ":tensorflow:serving:request_count"
        self.assertEqual(grown(count, model_name="half_plus_three", status="OK"), 5)
        self.assertEqual(
            grown(count, model_name="half_plus_three", status="INVALID_ARGUMENT"), 1)
        self.assertEqual(grown(":tensorflow:serving:request_latency_count",
                               model_name="half_plus_three", API="predict", entrypoint="REST"), 5)

    def test_quantiles_can_be_read(self):
        before = buckets(samples(OURS), REQUEST, model="slow")
        self.assertEqual(before, [])  # a histogram begins with its first sample
        for _ in range(10):
            self.infer("slow", "input", np.float32([1]))
        after = buckets(samples(OURS), REQUEST, model="slow")
        self.assertEqual(after[-1][1], 10)
        p50, p99 = quantile(0.5, after), quantile(0.99, after)
        mean = total(samples(OURS), f"{REQUEST}_sum", model="slow") / 10
        self.assertTrue(0 < p50 <= p99, (p50, p99))
        # The model takes tens of milliseconds; a bucket's upper bound is at most 2.5 times its
        # lower bound.
        self.assertTrue(0.001 < p50 < 10, p50)
        self.assertLess(mean, p99 * 2.5)


if __name__ == "__main__":
    unittest.main()
