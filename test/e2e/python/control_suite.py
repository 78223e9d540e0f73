"""What an operator does with Triton's clients, written once for HTTP and gRPC: repository,
statistics, configuration, log settings, classification, priority and timeout.
test_control_http.py and test_control_grpc.py fill in the client. Source: v2-protocol.md 2, 3, 8,
10, 11. Test time only."""
import json
import os
import time
import urllib.request

import numpy as np
from prometheus_client.parser import text_string_to_metric_families
from serval_case import HTTP, ServalCase
from tritonclient.utils import InferenceServerException

REPOSITORY = os.environ.get("SERVAL_REPOSITORY", "")
WAIT_SECONDS = 60
EXTENSIONS = {"classification", "model_repository", "schedule_policy", "model_configuration",
              "binary_tensor_data", "parameters", "statistics", "logging", "trace",
              "sequence", "sequence(string_id)"}
NOT_YET = {"system_shared_memory", "cuda_shared_memory"}


def metric(name, **labels):
    """Sum of the gauge's samples on /metrics with these labels, 0 where there is none."""
    with urllib.request.urlopen(f"http://{HTTP}/metrics", timeout=WAIT_SECONDS) as answer:
        text = answer.read().decode()
    return sum(sample.value for family in text_string_to_metric_families(text)
               if family.name == name for sample in family.samples
               if labels.items() <= sample.labels.items())


class ControlSuite(ServalCase):
    """Needs of the client: `client`, index(), config(), stats(), log_settings(), trace_settings(),
    begin(), and the statuses NOT_FOUND, INVALID, UNAVAILABLE, UNIMPLEMENTED."""

    def ask(self, model, name, array, datatype="FP32", output=None, **more):
        outputs = None if output is None else [output]
        return self.client.infer(model, [self.make_input(name, array, datatype)],
                                 outputs=outputs, **more)

    def state_of(self, model, version=None):
        return [(each.get("state", ""), each.get("reason", "")) for each in self.index()
                if each["name"] == model and version in (None, each.get("version"))]

    def plus_of(self, model, **more):
        """What the model adds to x = 0."""
        return float(self.ask(model, "x", np.float32([0]), **more).as_numpy("y")[0])

    # -- repository

    def test_extensions_are_exactly_what_works(self):
        extensions = self.extensions()
        self.assertLessEqual(EXTENSIONS, extensions)
        self.assertFalse(NOT_YET & extensions, extensions)

    def test_index_names_everything_in_the_repository(self):
        names = {each["name"] for each in self.index()}
        self.assertLessEqual({"half_plus_three", "versions", "mlp", "labelled", "corrupt"}, names)
        self.assertEqual(self.state_of("half_plus_three"), [("READY", "")])
        self.assertNotIn("READY", [state for state, _ in self.state_of("versions")])

    def test_load_and_unload(self):
        self.assertFalse(self.is_ready("versions"))
        self.client.load_model("versions")
        self.addCleanup(self.client.unload_model, "versions")
        self.assertTrue(self.is_ready("versions"))
        for version, plus in (("1", 1), ("2", 2), ("10", 10)):
            self.assertEqual(self.plus_of("versions", model_version=version), plus)
            self.assertEqual(self.state_of("versions", version), [("READY", "")])
        self.assertEqual(self.plus_of("versions"), 10)
        self.client.unload_model("versions")
        self.assertFalse(self.is_ready("versions"))
        for state, reason in self.state_of("versions"):
            self.assertEqual(state, "UNAVAILABLE")
            self.assertTrue(reason == "" or "unloaded" in reason, reason)
        self.client.load_model("versions")
        self.assertEqual(self.plus_of("versions"), 10)

    def test_loading_twice_and_unloading_twice(self):
        self.client.load_model("mlp")
        self.client.load_model("mlp")
        self.assertTrue(self.is_ready("mlp"))
        self.client.unload_model("mlp")
        self.client.unload_model("mlp")
        self.assertFalse(self.is_ready("mlp"))

    def test_unknown_models(self):
        self.refused(lambda: self.client.load_model("nope"), self.NOT_FOUND, "nope")
        self.refused(lambda: self.client.unload_model("nope"), self.NOT_FOUND, "nope")

    def test_a_load_that_fails_says_why_everywhere(self):
        self.fails(lambda: self.client.load_model("corrupt"), "corrupt")
        self.assertFalse(self.is_ready("corrupt"))
        states = self.state_of("corrupt")
        self.assertEqual([state for state, _ in states], ["UNAVAILABLE"])
        self.assertNotEqual(states[0][1], "")
        self.assertGreater(metric("serval_model_load_failed", model="corrupt"), 0)

    def test_a_bad_configuration_names_file_and_line(self):
        error = self.fails(lambda: self.client.load_model("bad_config"), "config.pbtxt:")
        self.assertRegex(error.message(), r"config\.pbtxt:2(:\d+)?")
        self.assertFalse(self.is_ready("bad_config"))

    def test_a_failed_reload_leaves_the_old_version_serving(self):
        path = os.path.join(REPOSITORY, "replaceable", "1", "model.onnx")
        with open(path, "rb") as file:
            good = file.read()
        self.client.load_model("replaceable")
        self.addCleanup(self.client.unload_model, "replaceable")
        self.assertEqual(self.plus_of("replaceable"), 3)
        try:
            self.write(path, b"no model at all")
            self.fails(lambda: self.client.load_model("replaceable"), "replaceable")
            self.assertEqual(self.plus_of("replaceable"), 3)
        finally:
            self.write(path, good)
        self.client.load_model("replaceable")
        self.assertEqual(self.plus_of("replaceable"), 3)

    def test_files_and_config_given_with_the_load(self):
        with open(os.path.join(REPOSITORY, "versions", "2", "model.onnx"), "rb") as file:
            other = file.read()
        config = json.dumps({"backend": "onnxruntime", "max_batch_size": 0})
        self.addCleanup(self.client.unload_model, "replaceable")
        self.client.load_model("replaceable", config=config, files={"file:7/model.onnx": other})
        self.assertEqual(self.plus_of("replaceable"), 2)
        self.assertEqual(self.plus_of("replaceable", model_version="7"), 2)
        self.assertEqual(self.config("replaceable")["name"], "replaceable")
        self.refused(lambda: self.plus_of("replaceable", model_version="1"), self.NOT_FOUND, "1")
        self.client.load_model("replaceable")
        self.assertEqual(self.plus_of("replaceable"), 3)
        self.assertEqual(self.plus_of("replaceable", model_version="1"), 3)

    def test_config_override(self):
        self.addCleanup(self.client.unload_model, "mlp")
        self.client.load_model("mlp")
        self.assertEqual(self.config("mlp")["max_batch_size"], 4)
        override = {"max_batch_size": 16, "dynamic_batching": {"preferred_batch_size": [8]}}
        self.client.load_model("mlp", config=json.dumps(override))
        config = self.config("mlp")
        self.assertEqual(config["max_batch_size"], 16)
        self.assertEqual(config["dynamic_batching"]["preferred_batch_size"], [8])
        self.ask("mlp", "input", np.zeros((16, 784), np.float32))
        self.refused(lambda: self.ask("mlp", "input", np.zeros((17, 784), np.float32)),
                     self.INVALID, "16")

    def test_overrides_that_make_no_sense(self):
        self.assertEqual(self.plus_of("half_plus_three"), 3)
        for config, files, text in (
                ("{", None, ""), ('{"max_batch_size": "many"}', None, "max_batch_size"),
                ('{"no_such_field": 1}', None, "no_such_field"),
                (None, {"file:1/model.onnx": b"x"}, "config"),
                ("{}", {"file:../model.onnx": b"x"}, "")):
            with self.subTest(config=config, files=files):
                self.refused(lambda c=config, f=files: self.client.load_model(
                    "half_plus_three", config=c, files=f), self.INVALID, text)
        self.assertEqual(self.plus_of("half_plus_three"), 3)

    # -- configuration and statistics

    def test_config_of_a_model_without_a_file(self):
        self.client.load_model("mlp")
        self.addCleanup(self.client.unload_model, "mlp")
        config = self.config("mlp")
        self.assertEqual((config["name"], config["backend"]), ("mlp", "onnxruntime"))
        self.assertEqual(config["max_batch_size"], 4)
        self.assertIn("dynamic_batching", config)
        for side, name, size in (("input", "input", 784), ("output", "output", 10)):
            tensor = config[side][0]
            self.assertEqual((tensor["name"], tensor["data_type"]), (name, "TYPE_FP32"))
            self.assertEqual([int(dim) for dim in tensor["dims"]], [size])
        self.refused(lambda: self.config("nope"), self.NOT_FOUND, "nope")
        self.refused(lambda: self.config("mlp", "9"), self.NOT_FOUND, "9")

    def test_statistics_are_exact(self):
        self.client.load_model("mlp")
        self.addCleanup(self.client.unload_model, "mlp")
        before = self.stats("mlp", "1")
        sizes = [1, 1, 1, 4, 4]
        for rows in sizes:
            self.ask("mlp", "input", np.zeros((rows, 784), np.float32))
        after = self.stats("mlp", "1")
        self.assertEqual((after["name"], str(after["version"])), ("mlp", "1"))
        grown = lambda key: after[key] - before[key]
        self.assertEqual(grown("inference_count"), sum(sizes))
        self.assertEqual(grown("execution_count"), len(sizes))
        self.assertLess(abs(after["last_inference"] - time.time() * 1000), 120_000)
        for key in ("success", "queue", "compute_input", "compute_infer", "compute_output"):
            was, now = (side["inference_stats"][key] for side in (before, after))
            self.assertEqual(now["count"] - was["count"], len(sizes), key)
            self.assertGreaterEqual(now["ns"], was["ns"], key)
        for key in ("fail", "cache_hit", "cache_miss"):
            self.assertEqual(after["inference_stats"][key]["count"],
                             before["inference_stats"][key]["count"], key)
        parts = sum(after["inference_stats"][key]["ns"] for key in
                    ("queue", "compute_input", "compute_infer", "compute_output"))
        self.assertLessEqual(parts, after["inference_stats"]["success"]["ns"] * 1.01)
        batches = {}
        for side, sign in ((before, -1), (after, 1)):
            for batch in side.get("batch_stats", []):
                count = batches.get(batch["batch_size"], 0)
                batches[batch["batch_size"]] = count + sign * batch["compute_infer"]["count"]
        self.assertEqual({size: n for size, n in batches.items() if n}, {1: 3, 4: 2})

    def test_failures_are_counted_apart(self):
        self.client.load_model("fails_at_run")
        self.addCleanup(self.client.unload_model, "fails_at_run")
        before = self.stats("fails_at_run")
        for _ in range(3):
            self.fails(lambda: self.ask("fails_at_run", "index", np.int64([7]), "INT64"), "")
        self.ask("fails_at_run", "index", np.int64([1]), "INT64")
        after = self.stats("fails_at_run")
        counts = [[side["inference_stats"][key]["count"] for key in ("success", "fail")]
                  for side in (before, after)]
        self.assertEqual(counts[1][0] - counts[0][0], 1)
        self.assertEqual(counts[1][1] - counts[0][1], 3)

    def test_statistics_of_all_and_of_none(self):
        names = [each["name"] for each in self.all_stats()]
        self.assertIn("half_plus_three", names)
        self.refused(lambda: self.stats("nope"), self.NOT_FOUND, "nope")
        self.refused(lambda: self.stats("half_plus_three", "9"), self.NOT_FOUND, "9")

    # -- log settings

    def test_log_settings(self):
        first = self.log_settings()
        self.assertLessEqual({"log_file", "log_info", "log_warning", "log_error",
                              "log_verbose_level", "log_format"}, set(first))
        self.addCleanup(self.update_logs, {"log_verbose_level": first["log_verbose_level"],
                                           "log_info": first["log_info"]})
        self.update_logs({"log_verbose_level": 1, "log_info": False})
        now = self.log_settings()
        self.assertEqual((now["log_verbose_level"], now["log_info"]), (1, False))
        self.assertEqual(now["log_error"], first["log_error"])
        for change in ({"no_such_setting": True}, {"log_format": "xml"}, *self.WRONG_LOG_TYPES,
                       {"log_file": "/tmp/elsewhere.log"}):
            with self.subTest(change=change):
                self.refused(lambda c=change: self.update_logs(c), self.INVALID, next(iter(change)))
        self.assertEqual(self.log_settings(), now)

    # -- trace settings (there is a file: test/e2e/triton-control.test.ts)

    def test_trace_settings(self):
        first = self.trace_settings()
        self.assertEqual(first["trace_level"], ["OFF"])
        self.assertEqual((first["trace_rate"], first["trace_count"], first["trace_mode"]),
                         ("1000", "-1", "triton"))
        self.assertTrue(first["trace_file"].endswith("trace.json"), first)
        self.client.load_model("half_plus_three")
        clear = {"trace_level": None, "trace_rate": None, "trace_count": None,
                 "log_frequency": None}
        self.addCleanup(lambda: self.update_traces(clear))
        self.addCleanup(lambda: self.update_traces(clear, "half_plus_three"))
        # The settings of one model; the other models' are unchanged.
        now = self.update_traces({"trace_level": ["TIMESTAMPS"], "trace_rate": "1",
                                  "trace_count": "5", "log_frequency": "2"}, "half_plus_three")
        self.assertEqual((now["trace_level"], now["trace_rate"], now["trace_count"],
                          now["log_frequency"]), (["TIMESTAMPS"], "1", "5", "2"))
        self.assertEqual(self.trace_settings(), first)
        for _ in range(3):
            self.plus_of("half_plus_three")
        self.assertEqual(self.trace_settings("half_plus_three")["trace_count"], "2")
        # A model uses the settings for all models where it has none of its own.
        self.assertEqual(self.update_traces({"trace_rate": "7"})["trace_rate"], "7")
        self.update_traces({"trace_rate": None}, "half_plus_three")
        self.assertEqual(self.trace_settings("half_plus_three")["trace_rate"], "7")
        self.update_traces(clear, "half_plus_three")
        self.assertEqual(self.trace_settings("half_plus_three"), self.trace_settings())
        self.update_traces(clear)
        self.assertEqual(self.trace_settings(), first)

    def test_trace_settings_that_cannot_be(self):
        before = self.trace_settings()
        for change, words in (({"trace_rate": "x"}, "Unable to parse 'trace_rate'"),
                              ({"trace_count": "-2"}, "trace_count"),
                              ({"trace_level": ["OFF", "TIMESTAMPS"]}, "only one trace level"),
                              ({"trace_level": ["LOUD"]}, "LOUD"),
                              ({"no_such_setting": "1"}, "no_such_setting")):
            with self.subTest(change=change):
                self.refused(lambda c=change: self.update_traces(c), self.INVALID, words)
        self.refused(lambda: self.update_traces({"trace_file": "/tmp/x"}), self.UNIMPLEMENTED,
                     "trace file location can not be updated through network protocol")
        self.refused(lambda: self.trace_settings("nobody"), self.INVALID,
                     "Request for unknown model : nobody")
        self.assertEqual(self.trace_settings(), before)

    # -- classification

    def classes(self, model, rows, count):
        result = self.ask(model, "input", np.float32(rows),
                          output=self.class_output("output", count))
        return [[entry.decode().split(":") for entry in row]
                for row in result.as_numpy("output")]

    def test_classification_with_labels(self):
        self.client.load_model("labelled")
        self.addCleanup(self.client.unload_model, "labelled")
        rows = [[0.125, 0.75, 0.5], [3, -1, 2]]
        got = self.classes("labelled", rows, 2)
        self.assertEqual([[(float(value), index, label) for value, index, label in row]
                          for row in got],
                         [[(0.75, "1", "second"), (0.5, "2", "third")],
                          [(3, "0", "first"), (2, "2", "third")]])

    def test_classification_without_labels_and_beyond_the_end(self):
        self.client.load_model("mlp")
        self.addCleanup(self.client.unload_model, "mlp")
        row = np.random.default_rng(1).random((1, 784), dtype=np.float32)
        plain = self.ask("mlp", "input", row).as_numpy("output")[0]
        got = self.ask("mlp", "input", row, output=self.class_output("output", 99))
        entries = [entry.decode().split(":") for entry in got.as_numpy("output")[0]]
        order = [int(index) for _, index in entries]
        self.assertEqual(order, list(np.argsort(-plain, kind="stable")))
        for value, index in entries:
            self.assertAlmostEqual(float(value), float(plain[int(index)]), places=4)

    def test_classification_of_text_is_refused(self):
        self.client.load_model("text_identity")
        self.addCleanup(self.client.unload_model, "text_identity")
        array, output = np.array([b"a"], np.object_), self.class_output("text_out", 1)
        self.refused(lambda: self.ask("text_identity", "text", array, "BYTES", output=output),
                     self.INVALID, "text_out")

    # -- priority and timeout

    def begin_slow(self, **more):
        return self.begin("slow_second", "input", np.float32([7]), **more)

    def test_priority_goes_first(self):
        low = [self.begin_slow(priority=2) for _ in range(8)]
        high = self.begin_slow(priority=1)
        self.same(high.result().as_numpy("output"), np.float32([7]))
        self.assertFalse(all(request.done() for request in low),
                         "every request of lower priority was answered before")
        for request in low:
            self.same(request.result().as_numpy("output"), np.float32([7]))

    def test_timeout_in_the_queue(self):
        begun = [self.begin_slow() for _ in range(6)]
        late = self.begin_slow(timeout=1000)
        self.refused(late.result, self.UNAVAILABLE, "slow_second")
        for request in begun:
            self.same(request.result().as_numpy("output"), np.float32([7]))

    # -- tools

    def fails(self, call, text):
        """`call` must raise, whatever the status, with `text` in its message."""
        with self.assertRaises(InferenceServerException) as caught:
            call()
        self.assertIn(text, caught.exception.message())
        return caught.exception

    @staticmethod
    def write(path, content):
        with open(path + ".new", "wb") as file:
            file.write(content)
        os.replace(path + ".new", path)
