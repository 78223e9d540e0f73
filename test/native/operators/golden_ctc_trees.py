"""Cases of the CTC decoders and of boosted trees, these only by TensorFlow 2.8: later ones have no
kernels of theirs. Test time only."""

import numpy as np
import tensorflow as tf

from golden_parts import F32, I32, I64, case, raw


def greedy(name, scores, lengths, merge=False, blank=-1, exact=True):
    """One case of CTCGreedyDecoder."""
    lengths = np.array(lengths, I32)
    return case(
        f'greedy {name}',
        'CTCGreedyDecoder',
        {'merge_repeated': merge, 'blank_index': blank},
        [scores, lengths],
        lambda: raw.CTCGreedyDecoder(
            inputs=tf.constant(scores),
            sequence_length=lengths,
            merge_repeated=merge,
            blank_index=blank,
        ),
        exact=exact,
    )


def beam(name, scores, lengths, width=10, top=1, merge=False, exact=True):
    """One case of CTCBeamSearchDecoder."""
    lengths = np.array(lengths, I32)
    return case(
        f'beam {name}',
        'CTCBeamSearchDecoder',
        {'beam_width': width, 'top_paths': top, 'merge_repeated': merge},
        [scores, lengths],
        lambda: raw.CTCBeamSearchDecoder(
            inputs=tf.constant(scores),
            sequence_length=lengths,
            beam_width=width,
            top_paths=top,
            merge_repeated=merge,
        ),
        exact=exact,
    )


def random_scores(seed, shape, dtype=F32, scale=2.0):
    """Logits, from a seed."""
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(dtype)


def logs(scores):
    """Logarithms of probabilities along the last axis."""
    wide = scores.astype(np.float64)
    return (wide - np.log(np.exp(wide).sum(-1, keepdims=True))).astype(scores.dtype)


def greedy_cases():
    for dtype in (F32, np.float64):
        for merge in (False, True):
            yield greedy(f'{dtype.__name__} {merge}', random_scores(1, (7, 3, 3), dtype), [7, 0, 4],
                         merge)
    scores = random_scores(2, (6, 2, 4))
    for blank in (0, 1, 3, -1, -4):
        for merge in (False, True):
            yield greedy(f'blank {blank} {merge}', scores, [6, 3], merge, blank)
    for blank in (4, -5):
        yield greedy(f'blank {blank}', scores, [6, 3], False, blank)
    yield greedy('ties', np.zeros((4, 2, 3), F32), [4, 2], True)
    repeated = np.eye(3, dtype=F32)[[0, 0, 2, 0, 1, 1, 0]].reshape(7, 1, 3)
    for merge in (False, True):
        yield greedy(f'repeated {merge}', repeated, [7], merge)
    blanks = np.eye(3, dtype=F32)[[2, 2, 2]].reshape(3, 1, 3)
    yield greedy('nothing but blanks', blanks, [3], True)
    yield greedy('no times', scores, [0, 0])
    yield greedy('negative lengths', scores, [-3, 2])
    yield greedy('one class', np.zeros((3, 1, 1), F32), [3])
    odd = np.array([[[1, np.inf, 2], [-np.inf, -np.inf, -np.inf]],
                    [[np.nan, 1, 2], [0, np.nan, 1]]], F32)
    yield greedy('no numbers', odd, [2, 2])
    yield from wrong(greedy)


def wrong(make):
    """What both decoders refuse."""
    scores = random_scores(3, (4, 2, 3))
    yield make('length beyond', scores, [4, 5])
    yield make('lengths of another batch', scores, [4])
    yield make('lengths of rank 2', scores, [[4, 2]])
    yield make('rank 2', scores[0], [4, 2])
    yield make('no rows', scores[:, :0], [])
    yield make('nothing', scores[:0], [0, 0])
    yield make('no classes', scores[:, :, :0], [1, 1])


def beam_cases():
    for dtype in (F32, np.float64):
        for top in (1, 3):
            for merge in (False, True):
                yield beam(f'{dtype.__name__} {top} {merge}',
                           random_scores(4, (7, 3, 4), dtype), [7, 2, 4], 10, top, merge)
    for width in (1, 2, 3, 17, 1000):
        yield beam(f'width {width}', random_scores(5, (12, 2, 6)), [12, 9], width, min(width, 2))
    for seed in range(6, 9):
        yield beam(f'logs {seed}', logs(random_scores(seed, (15, 1, 5), scale=3)), [15], 8, 3)
    yield beam('double logs', logs(random_scores(12, (30, 1, 8), np.float64)), [30], 25, 3)
    yield beam('long', logs(random_scores(13, (60, 1, 6), scale=1)), [60], 30, 2, True)
    yield beam('narrow and long', random_scores(14, (30, 1, 9), scale=.5), [30], 3, 2)
    for width, top in ((3, 3), (5, 5), (20, 6), (40, 8)):
        if width < 16:  # of more the order depends on the library that sorts
            yield beam(f'ties {width}', np.zeros((5, 1, 4), F32), [5], width, top)
        coarse = np.round(random_scores(15, (8, 2, 5), scale=1))
        yield beam(f'coarse {width}', coarse, [8, 6], width, top)
    never = random_scores(16, (5, 1, 4))
    never[:, :, 1] = -np.inf
    yield beam('a class never', never, [5], 6, 3)
    never[2] = -np.inf
    yield beam('nothing at a time', never, [5], 6, 1)
    yield beam('no times', never, [0])
    yield beam('no times, two paths', never, [0], 10, 2)
    yield beam('negative length', never, [-1])
    yield beam('fewer than asked', random_scores(17, (1, 1, 2)), [1], 10, 4)
    yield beam('more than the width', random_scores(17, (4, 1, 5)), [4], 3, 4)
    yield beam('one class', np.zeros((3, 1, 1), F32), [3])
    repeated = np.eye(3, dtype=F32)[[0, 0, 2, 0, 1, 1, 0]].reshape(7, 1, 3) * 5
    for merge in (False, True):
        yield beam(f'repeated {merge}', repeated, [7], 10, 2, merge)
    yield from wrong(beam)


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
