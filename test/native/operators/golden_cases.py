"""The cases of make-goldens.py, by group. Test time only."""

import struct

import numpy as np
import tensorflow as tf

from golden_parts import FLOAT, I32, I64, INT32, INT64, ONNX, STRING, case, raw
from golden_ragged import count_cases, ragged_cases, selection_cases
from golden_images import bmp_cases, gif_cases, jpeg_cases, png_cases
from golden_strings import (
    csv_cases, element_cases, format_cases, join_cases, ngram_cases, number_cases, regex_cases,
    split_cases, unicode_cases,
)
from golden_sequence import sequence_cases
from golden_sparse import segment_cases, sparse_cases
from golden_ctc_trees import beam_cases, greedy_cases, trees_cases

# Examples.


def float_feature(*values):
    return tf.train.Feature(float_list=tf.train.FloatList(value=values))


def int_feature(*values):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def text_feature(*values):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))


def example(**features):
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString(
        deterministic=True
    )


def wire(number, payload):
    return bytes([number << 3 | 2, len(payload)]) + payload


def wire_feature(key, value):
    return wire(1, wire(1, key) + wire(2, value))


def wire_example(*features):
    return wire(1, b''.join(features))


def floats(*values):
    return wire(2, wire(1, struct.pack(f'<{len(values)}f', *values)))


def parse(name, serialized, sparse=(), dense=(), ragged=()):
    """sparse: (key, type); dense: (key, type, shape, default); ragged: (key, type, splits)."""
    serialized = np.array(serialized, object) if isinstance(serialized, list) else serialized
    defaults = [
        np.asarray(one[3], object if one[1] == tf.string else one[1].as_numpy_dtype)
        for one in dense
    ]
    shapes = []
    for one in dense:
        shapes += [len(one[2])] + [-1 if dim is None else dim for dim in one[2]]
    attributes = {
        'sparse_keys': tuple(one[0] for one in sparse),
        'sparse_types': [ONNX[one[1]] for one in sparse],
        'dense_keys': tuple(one[0] for one in dense),
        'dense_types': [ONNX[one[1]] for one in dense],
        'dense_shapes': shapes,
        'ragged_keys': tuple(one[0] for one in ragged),
        'ragged_types': [ONNX[one[1]] for one in ragged],
        'ragged_split_types': [ONNX[one[2]] for one in ragged],
    }

    def names(values):
        return tf.constant([one[0] for one in values], tf.string, shape=[len(values)])

    def run():
        out = raw.ParseExampleV2(
            serialized=tf.constant(serialized, tf.string),
            names=tf.constant([], tf.string),
            sparse_keys=names(sparse),
            dense_keys=names(dense),
            ragged_keys=names(ragged),
            dense_defaults=[tf.constant(d, one[1]) for d, one in zip(defaults, dense)],
            num_sparse=len(sparse),
            sparse_types=[one[1] for one in sparse],
            ragged_value_types=[one[1] for one in ragged],
            ragged_split_types=[one[2] for one in ragged],
            dense_shapes=[one[2] for one in dense],
        )
        return [list(part) for part in out]

    return case(name, 'ParseExample', attributes, [serialized] + defaults, run, exact=True)


def example_cases():
    f, i, s = tf.float32, tf.int64, tf.string
    none = []
    x = [('x', f, [1], none)]
    mixed = [
        example(a=float_feature(1, 2), b=int_feature(-1, 2**62), c=text_feature(b'', b'a\0b')),
        example(),
        example(a=float_feature(3), b=int_feature(), c=text_feature(b'\xff')),
        example(unused=float_feature(1), c=text_feature(b'long enough to be on a heap' * 3)),
    ]
    yield parse('sparse of each type', mixed, [('a', f), ('b', i), ('c', s)])
    yield parse(
        'ragged of each type',
        mixed,
        (),
        (),
        [('a', f, tf.int32), ('b', i, tf.int64), ('c', s, tf.int64)],
    )
    yield parse(
        'dense with defaults',
        mixed[1:2]
        + [example(a=float_feature(1, 2), b=int_feature(5), c=text_feature(b'v', b'w'))],
        (),
        [('a', f, [2], [8, 9]), ('b', i, [], 7), ('c', s, [1, 2], [[b'p', b'q']])],
    )
    yield parse(
        'all forms at once', mixed, [('a', f)], [('d', f, [2], [1, 2])], [('c', s, tf.int64)]
    )
    yield parse(
        'variable length',
        mixed,
        (),
        [('a', f, [None], [-1]), ('b', i, [None], [-2]), ('c', s, [None], [b'-'])],
    )
    yield parse(
        'variable rows',
        [example(a=float_feature(*range(6))), example(), example(a=float_feature(1, 2))],
        (),
        [('a', f, [None, 2], [-1])],
    )
    yield parse(
        'variable rows that do not fit',
        [example(a=float_feature(1, 2, 3))],
        (),
        [('a', f, [None, 2], [-1])],
    )
    yield parse(
        'variable length without padding',
        [example(a=float_feature(1))],
        (),
        [('a', f, [None, 2], none)],
    )
    yield parse('no examples', [], [('a', f)], [('b', f, [2], [1, 2])], [('c', f, tf.int32)])
    yield parse('no examples, variable', [], (), [('b', f, [None, 2], [1])])
    yield parse('one example', mixed[0], [('a', f)], [('d', f, [2], [1, 2])], [('e', s, tf.int64)])
    yield parse(
        'one example, variable',
        example(a=float_feature(1, 2, 3, 4)),
        (),
        [('a', f, [None, 2], [1])],
    )
    yield parse('one example, ragged', mixed[0], (), (), [('b', i, tf.int64)])
    yield parse('required', [example(x=float_feature(1)), example()], (), x)
    yield parse('required, one example', example(), (), x)
    yield parse('dense of another type', [example(x=int_feature(1))], (), x)
    yield parse('dense of another type, one example', example(x=int_feature(1)), (), x)
    yield parse(
        'dense strings of another type', [example(x=int_feature(1))], (), [('x', s, [1], none)]
    )
    yield parse('sparse of another type', [example(), example(x=int_feature(1))], [('x', f)])
    yield parse(
        'ragged of another type', [example(x=text_feature(b'1'))], (), (), [('x', f, tf.int32)]
    )
    yield parse('sparse of another type, one example', example(x=int_feature(1)), [('x', f)])
    yield parse('too many floats', [example(x=float_feature(1, 2))], (), x)
    yield parse('too few floats', [example(x=float_feature(1))], (), [('x', f, [2, 2], none)])
    yield parse('too few integers', [example(x=int_feature(1))], (), [('x', i, [2], none)])
    yield parse(
        'too many strings', [example(x=text_feature(b'1', b'2', b'3'))], (), [('x', s, [2], none)]
    )
    yield parse('too many floats, one example', example(x=float_feature(1, 2)), (), x)
    yield parse(
        'too many strings, one example',
        example(x=text_feature(b'1', b'2')),
        (),
        [('x', s, [1], none)],
    )
    yield parse(
        'too few strings, one example', example(x=text_feature()), (), [('x', s, [2], none)]
    )
    yield parse('cut off', [b'\x0a\x05abc'], (), x)
    yield parse('matrix of examples', [[example()]], (), x)
    yield parse(
        'default of another shape', [example(x=float_feature(1))], (), [('x', f, [2], [1])]
    )
    yield parse(
        'key twice',
        [wire_example(wire_feature(b'x', floats(1)), wire_feature(b'x', floats(2)))],
        (),
        x,
    )
    yield parse(
        'key twice, of other types',
        [wire_example(wire_feature(b'x', wire(3, b'\x08\x01')), wire_feature(b'x', floats(2)))],
        (),
        x,
    )
    yield parse(
        'key twice, last one empty',
        [wire_example(wire_feature(b'x', floats(2)), wire_feature(b'x', b''))],
        (),
        x,
    )
    yield parse(
        'key twice, last one empty, sparse',
        [wire_example(wire_feature(b'x', floats(2)), wire_feature(b'x', b''))],
        [('x', f)],
    )
    yield parse('unknown kind', [wire_example(wire_feature(b'x', b'\x22\x00'))], (), x)
    yield parse(
        'unknown kind of no interest',
        [wire_example(wire_feature(b'y', b'\x22\x00'), wire_feature(b'x', floats(3)))],
        (),
        x,
    )
    single = wire(2, b''.join(b'\x0d' + struct.pack('<f', one) for one in (3, 4)))
    yield parse(
        'floats one by one', [wire_example(wire_feature(b'x', single))], (), [('x', f, [2], none)]
    )
    mixed_list = wire(2, wire(1, struct.pack('<f', 3)) + b'\x0d' + struct.pack('<f', 4))
    yield parse('packed, then single', [wire_example(wire_feature(b'x', mixed_list))], (), x)
    yield parse(
        'integers one by one',
        [wire_example(wire_feature(b'x', wire(3, b'\x08\x03\x08\xac\x02')))],
        (),
        [('x', i, [2], none)],
    )
    yield parse(
        'varint cut off',
        [wire_example(wire_feature(b'x', wire(3, wire(1, b'\x01\xff\xff'))))],
        (),
        [('x', i, [2], none)],
    )
    yield parse(
        'varints of ten bytes',
        [example(x=int_feature(-1, -(2**63), 2**63 - 1, 0, 127, 128))],
        (),
        [('x', i, [6], none)],
    )
    yield parse(
        'packed floats of a broken size',
        [wire_example(wire_feature(b'x', wire(2, wire(1, b'\0\0\0'))))],
        [('x', f)],
    )
    yield parse('empty list', [wire_example(wire_feature(b'x', b'\x12\x00'))], (), x)
    yield parse(
        'merged contexts',
        [
            wire_example(wire_feature(b'x', floats(1)))
            + wire_example(wire_feature(b'y', floats(2)))
        ],
        (),
        [('x', f, [], none), ('y', f, [], none)],
    )
    yield parse(
        'merged, both have the key',
        [
            wire_example(wire_feature(b'x', floats(1)))
            + wire_example(wire_feature(b'x', floats(2)))
        ],
        (),
        x,
    )
    yield parse(
        'other fields',
        [b'\x12\x01\x00\x18\x05\x25\0\0\0\0' + wire_example(wire_feature(b'x', floats(1)))],
        (),
        x,
    )
    yield parse('group', [b'\x13\x14' + wire_example(wire_feature(b'x', floats(1)))], (), x)
    yield parse(
        'value before key', [wire_example(wire(1, wire(2, floats(1)) + wire(1, b'x')))], (), x
    )
    yield parse('entry without value', [wire_example(wire(1, wire(1, b'x')))], (), x)
    yield parse('no bytes', [b''], [('x', f)])
    yield parse(
        'behind the list',
        [wire_example(wire_feature(b'x', floats(3) + wire(3, b'\x08\x01')))],
        (),
        x,
    )
    many = {f'feature_{n:02}': float_feature(n / 7) for n in range(20)}
    yield parse(
        'twenty features',
        [example(**many)] * 3,
        (),
        [(f'feature_{n:02}', f, [1], none) for n in range(20)],
    )


# Hashes.


def hash_cases():
    rng = np.random.default_rng(1)
    lengths = [rng.integers(0, 256, n, dtype=np.uint8).tobytes() for n in range(201)]
    samples = [b'', b'a', b'hello', b'TensorFlow', b'x' * 33, b'y' * 100, b'\0', b'\xff' * 9]
    data = np.array(lengths, object)
    yield case(
        'fast, every length',
        'StringToHashBucketFast',
        {'num_buckets': 2**63 - 1},
        [data],
        lambda: raw.StringToHashBucketFast(input=lengths, num_buckets=2**63 - 1),
    )
    for name, values in (('short lengths', lengths[:40]), ('samples', samples)):
        data = np.array(values + [b''], object)[:-1]
        for buckets in (1000, 2**63 - 1):
            yield case(
                f'fast, {name}, {buckets}',
                'StringToHashBucketFast',
                {'num_buckets': buckets},
                [data],
                lambda d=data, b=buckets: raw.StringToHashBucketFast(input=d, num_buckets=b),
            )
        yield case(
            f'strong, {name}',
            'StringToHashBucketStrong',
            {'num_buckets': 2**62, 'key': [1, 2]},
            [data],
            lambda d=data: raw.StringToHashBucketStrong(input=d, num_buckets=2**62, key=[1, 2]),
        )
        yield case(
            f'legacy, {name}',
            'StringToHashBucket',
            {'num_buckets': 2**62},
            [data],
            lambda d=data: raw.StringToHashBucket(string_tensor=d, num_buckets=2**62),
        )
    matrix = np.array([[b'a', b'b'], [b'', b'long' * 30]], object)
    yield case(
        'fast, matrix',
        'StringToHashBucketFast',
        {'num_buckets': 7},
        [matrix],
        lambda: raw.StringToHashBucketFast(input=matrix, num_buckets=7),
    )
    yield case(
        'strong, negative key',
        'StringToHashBucketStrong',
        {'num_buckets': 1000, 'key': [-1, 2**62]},
        [matrix],
        lambda: raw.StringToHashBucketStrong(input=matrix, num_buckets=1000, key=[-1, 2**62]),
    )
    numbers = rng.integers(0, 1000, (3, 50), dtype=I32)
    for name, data in (
        ('numbers', numbers),
        ('strings', np.array([b'a', b'bc'], object)),
        ('matrix of strings', matrix),
    ):
        yield case(
            f'fingerprint of {name}',
            'Fingerprint',
            {},
            [data],
            lambda d=data: raw.Fingerprint(data=d, method='farmhash64'),
        )


def cross_cases():
    indices = [
        np.array([[0, 0], [0, 1], [2, 0]], I64),
        np.array([[0, 0], [1, 0], [2, 0], [2, 1]], I64),
    ]
    strings = np.array([b'a', b'b', b'c'], object)
    numbers = np.array([10, -11, 12, 13], I64)
    shapes = [np.array([3, 2], I64), np.array([3, 2], I64)]
    dense_text = np.array([[b'x', b'y'], [b'z', b''], [b'u', b'v']], object)
    dense_int = np.array([[1], [2], [3]], I64)
    inputs = indices + [strings, numbers] + shapes + [dense_text, dense_int]
    text_only = [indices[0], strings, shapes[0], dense_text]

    def v2():
        return raw.SparseCrossV2(
            indices=indices,
            values=[strings, numbers],
            shapes=shapes,
            dense_inputs=[dense_text, dense_int],
            sep='_Y_',
        )

    yield case(
        'join', 'SparseCross', {'mode': 'join', 'separator': '_Y_', 'num_sparse': 2}, inputs, v2
    )
    for buckets in (0, 100):
        yield case(
            f'hash {buckets}',
            'SparseCross',
            {'mode': 'hash', 'num_buckets': buckets, 'hash_key': 956888297470, 'num_sparse': 2},
            inputs,
            lambda b=buckets: raw.SparseCross(
                indices=indices,
                values=[strings, numbers],
                shapes=shapes,
                dense_inputs=[dense_text, dense_int],
                hashed_output=True,
                num_buckets=b,
                hash_key=956888297470,
                out_type=tf.int64,
                internal_type=tf.int64,
            ),
        )
        yield case(
            f'salted {buckets}',
            'SparseCross',
            {'mode': 'salted', 'num_buckets': buckets, 'salt': [3, 7], 'num_sparse': 2},
            inputs,
            lambda b=buckets: raw.SparseCrossHashed(
                indices=indices,
                values=[strings, numbers],
                shapes=shapes,
                dense_inputs=[dense_text, dense_int],
                num_buckets=b,
                strong_hash=False,
                salt=[3, 7],
            ),
        )
        # No dense integers: TensorFlow 2.21 crashes when it hashes them strongly.
        yield case(
            f'salted strongly {buckets}',
            'SparseCross',
            {
                'mode': 'salted',
                'num_buckets': buckets,
                'salt': [3, 7],
                'strong_hash': True,
                'num_sparse': 2,
            },
            inputs[:-1],
            lambda b=buckets: raw.SparseCrossHashed(
                indices=indices,
                values=[strings, numbers],
                shapes=shapes,
                dense_inputs=[dense_text],
                num_buckets=b,
                strong_hash=True,
                salt=[3, 7],
            ),
        )
    yield case(
        'join, old',
        'SparseCross',
        {'mode': 'join', 'num_sparse': 1},
        text_only,
        lambda: raw.SparseCross(
            indices=[indices[0]],
            values=[strings],
            shapes=[shapes[0]],
            dense_inputs=[dense_text],
            hashed_output=False,
            num_buckets=0,
            hash_key=1,
            out_type=tf.string,
            internal_type=tf.string,
        ),
    )


GROUPS = {
    'example': example_cases,
    'sequence': sequence_cases,
    'hash': hash_cases,
    'cross': cross_cases,
    'sparse': sparse_cases,
    'segment': segment_cases,
    'ragged': ragged_cases,
    'count': count_cases,
    'selection': selection_cases,
    'ctc_greedy': greedy_cases,
    'ctc_beam': beam_cases,
    'trees': trees_cases,
    'string_elements': element_cases,
    'string_join': join_cases,
    'string_ngrams': ngram_cases,
    'string_split': split_cases,
    'string_csv': csv_cases,
    'string_numbers': number_cases,
    'string_format': format_cases,
    'string_unicode': unicode_cases,
    'regex': regex_cases,
    'image_jpeg': jpeg_cases,
    'image_png': png_cases,
    'image_bmp': bmp_cases,
    'image_gif': gif_cases,
}
