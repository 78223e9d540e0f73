"""A BentoML service with ONNX models: one API for each, with the path and the JSON of KServe's V1.

PEER_WORKERS: the processes of the service.
"""
import os
from typing import Annotated

import bentoml
import numpy as np
from bentoml.validators import DType

from onnx_models import Model

Floats = Annotated[np.ndarray, DType("float32")]


@bentoml.service(
    workers=int(os.environ["PEER_WORKERS"]),
    traffic={"timeout": 60},
    logging={"access": {"enabled": False}},
)
class Peers:
    """Each worker process has its own sessions."""

    def __init__(self) -> None:
        self.half_plus_three = Model("half_plus_three")
        self.mlp = Model("mlp")
        self.resnet = Model("resnet")

    @bentoml.api(route="/v1/models/half_plus_three:predict")
    def call_half_plus_three(self, instances: Floats) -> Floats:
        return self.half_plus_three(instances)

    @bentoml.api(route="/v1/models/mlp:predict")
    def call_mlp(self, instances: Floats) -> Floats:
        return self.mlp(instances)

    @bentoml.api(route="/v1/models/resnet:predict")
    def call_resnet(self, instances: Floats) -> Floats:
        return self.resnet(instances)
