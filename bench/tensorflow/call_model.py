"""Reference: a SavedModel's signature called by TensorFlow itself, with one thread.

call_model.py VERSION_FOLDER REQUEST ANSWER THREADS. REQUEST is a JSON file: {"alias", and either
"shape" and "floats": a file of float32, or "strings": a list of base64}. Writes the first output's
float32 values to ANSWER and prints {"event": "ready"}. Then, for each line of stdin with a number
of seconds, makes calls for that time and prints {"usPerRequest", "perSecond", "p50Us", "cpuUs",
"requests"}.
"""
import base64
import json
import pathlib
import sys

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "contenders"))
from samples import answer_lines  # noqa: E402

WARM_CALLS = 3


def read_input(request):
    """The input tensor, made once: a client's work is not TensorFlow's."""
    if "strings" in request:
        return tf.constant([base64.b64decode(text) for text in request["strings"]])
    return tf.constant(np.fromfile(request["floats"], np.float32).reshape(request["shape"]))


def main():
    """Loads the model, warms up, then measures for each line."""
    folder, request_file, answer_file, threads = sys.argv[1:]
    tf.config.threading.set_intra_op_parallelism_threads(int(threads))
    tf.config.threading.set_inter_op_parallelism_threads(int(threads))
    request = json.loads(pathlib.Path(request_file).read_text(encoding="utf-8"))
    model = tf.saved_model.load(folder)
    function = model.signatures["serving_default"]
    tensor = read_input(request)

    def call():
        (values,) = function(**{request["alias"]: tensor}).values()
        return values.numpy()

    for _ in range(WARM_CALLS):
        answer = call()
    answer.astype(np.float32).tofile(answer_file)
    answer_lines(call, sys.stdout)


main()
