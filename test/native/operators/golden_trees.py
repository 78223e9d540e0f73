"""Cases of boosted trees. Test time only, and only by TensorFlow 2.8: later ones have no kernels."""

import numpy as np

from golden_parts import F32, I32, I64, case, raw


def leaf(*values):
    """A leaf."""
    return {'leaf': [float(value) for value in values]}


def at_most(feature, value, left, right, dimension=0):
    """A split: left where the feature is at most the value."""
    return {'kind': 1, 'feature': feature, 'value': value, 'left': left, 'right': right,
            'dimension': dimension}


def equal(*split):
    """A split: left where the feature is the value."""
    return {**at_most(*split), 'kind': 2}


def message(trees, weights):
    """The TreeEnsemble."""
    from tensorflow.core.kernels.boosted_trees import boosted_trees_pb2

    ensemble = boosted_trees_pb2.TreeEnsemble(tree_weights=weights)
    for nodes in trees:
        tree = ensemble.trees.add()
        ensemble.tree_metadata.add()
        for node in nodes:
            made = tree.nodes.add()
            if 'leaf' in node:
                if len(node['leaf']) == 1:
                    made.leaf.scalar = node['leaf'][0]
                else:
                    made.leaf.vector.value.extend(node['leaf'])
                continue
            split = made.bucketized_split if node['kind'] == 1 else made.categorical_split
            split.feature_id, split.dimension_id = node['feature'], node['dimension']
            split.left_id, split.right_id = node['left'], node['right']
            if node['kind'] == 1:
                split.threshold = node['value']
            else:
                split.value = node['value']
    return ensemble.SerializeToString()


def attributes_of(trees, weights, width):
    """The attributes of our operator."""
    nodes = [node for tree in trees for node in tree]
    given = {'logits_dimension': width, 'tree_sizes': [len(tree) for tree in trees],
             'tree_weights': [float(weight) for weight in weights],
             'kinds': [node.get('kind', 0) for node in nodes],
             'leaves': [value for node in nodes for value in node.get('leaf', [])]}
    for name, key in (('features', 'feature'), ('dimensions', 'dimension'), ('values', 'value'),
                      ('lefts', 'left'), ('rights', 'right')):
        given[name] = [node.get(key, 0) for node in nodes]
    return {name: value for name, value in given.items() if value != []}


HANDLES = []


def predict(name, trees, features, width=1, weights=None):
    """One case of BoostedTreesPredict."""
    weights = [1.0] * len(trees) if weights is None else weights

    def run():
        handle = raw.BoostedTreesEnsembleResourceHandleOp(container='', shared_name=name)
        HANDLES.append(handle)
        raw.BoostedTreesCreateEnsemble(
            tree_ensemble_handle=handle, stamp_token=I64(0),
            tree_ensemble_serialized=message(trees, weights))
        return raw.BoostedTreesPredict(
            tree_ensemble_handle=handle, bucketized_features=features, logits_dimension=width)
    return case(f'predict {name}', 'BoostedTreesPredict', attributes_of(trees, weights, width),
                features, run)


STUMP = [at_most(0, 1, 1, 2), leaf(-0.5), leaf(0.25)]
DEEP = [at_most(0, 2, 1, 2), equal(1, 3, 3, 4), at_most(2, 0, 5, 6, 1), leaf(1), leaf(-2),
        leaf(0.125), leaf(7)]
CLASSES = [at_most(0, 0, 1, 2), leaf(1, 2, 3), equal(1, 2, 3, 4), leaf(-1, 0, 1), leaf(0, 0, 9)]


def random_trees(rng, count, depth, features, width):
    """Full trees with random splits."""
    for _ in range(count):
        nodes = []
        for at in range(2 ** depth - 1):
            make = at_most if rng.random() < 0.7 else equal
            nodes.append(make(int(rng.integers(features)), int(rng.integers(4)), 2 * at + 1,
                              2 * at + 2))
        nodes += [leaf(*rng.standard_normal(width).astype(F32)) for _ in range(2 ** depth)]
        yield nodes


def trees_cases():
    rng = np.random.default_rng(5)
    three = [rng.integers(-1, 5, (9, 1)).astype(I32), rng.integers(0, 5, 9).astype(I32),
             rng.integers(0, 3, (9, 2)).astype(I32)]
    yield predict('one split', [STUMP], three[:1])
    yield predict('kinds of splits', [DEEP], three)
    yield predict('weights', [STUMP, DEEP, STUMP], three, 1, [0.1, 0.3, 0.7])
    yield predict('no trees', [], three)
    yield predict('a bias', [[leaf(0.75)], STUMP], three)
    yield predict('no rows', [DEEP], [one[:0] for one in three])
    yield predict('classes', [CLASSES], three, 3)
    yield predict('a bias of classes', [[leaf(5, 6, 7)], CLASSES], three, 3, [1.0, 0.5])
    for width in (1, 3):
        trees = list(random_trees(rng, 12, 4, 5, width))
        given = [rng.integers(0, 5, (270, 1)).astype(I32) for _ in range(5)]
        yield predict(f'many {width}', trees, given, width,
                      [float(F32(one)) for one in rng.random(len(trees))])
    yield predict('rank 3', [STUMP], [np.zeros((2, 1, 1), I32)])
    values = np.array([-1, 0, 0.5, 1, 2, 3, np.nan, np.inf, -np.inf], F32)
    for name, given, boundaries in (
        ('buckets', values, [0, 1, 2]),
        ('buckets, one column', values.reshape(-1, 1), [0, 1, 2]),
        ('buckets, two columns', values[:8].reshape(4, 2), [0, 1, 2]),
        ('one boundary', values, [1]),
        ('no boundaries', values, []),
        ('equal boundaries', values, [0, 1, 1, 1, 2]),
        ('no values', values[:0], [0, 1]),
        ('boundaries of rank 2', values, [[0, 1]]),
    ):
        limits = np.array(boundaries, F32)
        yield case(name, 'BoostedTreesBucketize', {}, [given, limits],
                   lambda given=given, limits=limits: raw.BoostedTreesBucketize(
                       float_values=[given], bucket_boundaries=[limits]))
