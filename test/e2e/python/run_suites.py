"""Runs the test modules named on the command line and reports every test as a JSON line on stdout:
{"test", "outcome": "passed" | "failed" | "skipped", "detail", "seconds"}. SERVAL_PYTHON_TESTS: part
of the names of those that are wanted. Test time only."""
import json
import os
import sys
import time
import unittest


class JsonLines(unittest.TestResult):
    """Reports each test when it is over; subtests that fail make their test fail."""

    def startTest(self, test):
        super().startTest(test)
        self.begun = time.monotonic()
        self.outcome = ("passed", "")

    def addError(self, test, err):
        super().addError(test, err)
        self.fail(test, err)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.fail(test, err)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.fail(test, err, f"{subtest}\n")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.outcome = ("skipped", reason)

    def fail(self, test, err, where=""):
        text = where + self._exc_info_to_string(err, test)
        if not hasattr(self, "begun"):  # setUpClass or the module's import
            report(str(test), "failed", text, 0)
            return
        self.outcome = ("failed", self.outcome[1] + text)

    def stopTest(self, test):
        super().stopTest(test)
        report(test.id(), *self.outcome, time.monotonic() - self.begun)
        del self.begun


def report(test, outcome, detail, seconds):
    line = {"test": test, "outcome": outcome, "detail": detail, "seconds": round(seconds, 3)}
    print(json.dumps(line), flush=True)


loader = unittest.TestLoader()
if os.environ.get("SERVAL_PYTHON_TESTS"):
    loader.testNamePatterns = [f"*{os.environ['SERVAL_PYTHON_TESTS']}*"]
suite = loader.loadTestsFromNames(sys.argv[1:])
result = JsonLines()
suite.run(result)
sys.exit(0 if result.wasSuccessful() and result.testsRun > 0 else 1)
