"""Models for the rows of trees, fitted with one seed.

make_trees.py FOLDER writes, for rows of 30 float32 columns:
  few.lightgbm.txt, few.xgboost.ubj    100 trees of depth 8
  few.lightgbm.lleaves                 the former, compiled by lleaves (a minute)
  many.lightgbm.txt                    1,000 trees of 255 leaves
  rows.floats                          1,000 rows
"""
import pathlib
import sys

import lightgbm
import lleaves
import numpy as np
import xgboost

COLUMNS = 30
FITTED = 20_000
ROWS = 1_000
SEED = 5


def make_rows(count, random):
    values = random.normal(size=(count, COLUMNS)).astype(np.float32)
    target = values[:, 0] * values[:, 1] + np.sin(values[:, 2] * 3) + np.abs(values[:, 3])
    for column in range(4, COLUMNS):
        target = target + np.tanh(values[:, column] * values[:, column - 1]) / column
    return values, target + random.normal(size=count) * 0.1


def main():
    """Fits and writes all."""
    folder = pathlib.Path(sys.argv[1])
    random = np.random.default_rng(SEED)
    values, target = make_rows(FITTED, random)
    shared = {"objective": "regression", "learning_rate": 0.05, "min_data_in_leaf": 2,
              "num_threads": 0, "seed": SEED, "deterministic": True, "verbosity": -1}
    few = {**shared, "num_leaves": 256, "max_depth": 8}
    many = {**shared, "num_leaves": 255, "learning_rate": 0.02}
    for name, parameters, trees in (("few", few, 100), ("many", many, 1000)):
        fitted = lightgbm.train(parameters, lightgbm.Dataset(values, target), trees)
        fitted.save_model(folder / f"{name}.lightgbm.txt")
    compiled = lleaves.Model(model_file=str(folder / "few.lightgbm.txt"))
    compiled.compile(cache=folder / "few.lightgbm.lleaves", raw_score=True)
    parameters = {"max_depth": 8, "eta": 0.05, "min_child_weight": 0, "seed": SEED}
    fitted = xgboost.train(parameters, xgboost.DMatrix(values, target), 100)
    fitted.save_model(folder / "few.xgboost.ubj")
    rows, _ = make_rows(ROWS, random)
    rows.tofile(folder / "rows.floats")


if __name__ == "__main__":
    main()
