"""LitServe with ONNX models: one API for each, with the path and the JSON of KServe's V1.

litserve_server.py PORT WORKERS. LitServe starts WORKERS processes for each model, and as many for
HTTP.
"""
import sys

import litserve
import numpy as np

from onnx_models import MODELS, Model


class OnnxApi(litserve.LitAPI):
    """One model."""

    def __init__(self, name):
        super().__init__(api_path=f"/v1/models/{name}:predict")
        self.name = name

    def setup(self, device):
        self.model = Model(self.name)

    def decode_request(self, request):
        return np.asarray(request["instances"], np.float32)

    def predict(self, rows):
        return self.model(rows)

    def encode_response(self, output):
        return {"predictions": output.tolist()}


if __name__ == "__main__":
    port, workers = int(sys.argv[1]), int(sys.argv[2])
    server = litserve.LitServer(
        [OnnxApi(name) for name in MODELS],
        accelerator="cpu",
        workers_per_device=workers,
        fast_queue=True,
    )
    server.run(
        host="127.0.0.1",
        port=port,
        num_api_servers=workers,
        log_level="warning",
        generate_client_file=False,
    )
