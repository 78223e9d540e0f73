"""Cases of the CTC decoders. Test time only."""

import numpy as np
import tensorflow as tf

from golden_parts import F32, I32, case, raw


def greedy(name, scores, lengths, merge=False, blank=-1, exact=True):
    """One case of CTCGreedyDecoder."""
    lengths = np.array(lengths, I32)
    return case(
        f'greedy {name}',
        'CTCGreedyDecoder',
        {'merge_repeated': merge, 'blank_index': blank},
        [scores, lengths],
        lambda: raw.CTCGreedyDecoder(
            inputs=tf.constant(scores), sequence_length=lengths, merge_repeated=merge, blank_index=blank
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
