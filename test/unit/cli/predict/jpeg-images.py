"""Writes jpeg-images.json: JPEG files and the pixels that Pillow decodes from them. Test time only.

Run it with an interpreter that has Pillow and NumPy: the one of test/env/tensorflow-env.sh. The
files come from Pillow's encoder, so a new version of Pillow may change them; the decoder must agree
with either.
"""

import base64
import io
import json
import pathlib

import numpy as np
from PIL import Image

ORIENTATION = 0x0112
ROTATED = 6


def waves(height, width, channels):
    y, x = np.mgrid[0:height, 0:width]
    planes = [128 + 100 * np.sin(x / 7 + k) * np.cos(y / 5 - k) for k in range(channels)]
    return np.stack(planes, -1).astype(np.uint8)


def images():
    exif = Image.Exif()
    exif[ORIENTATION] = ROTATED
    color = waves(19, 37, 3)
    yield 'grayscale', waves(9, 11, 1)[..., 0], {}
    yield 'color', color, {'subsampling': '4:4:4'}
    yield 'color at half the width', color, {'subsampling': '4:2:2'}
    yield 'color at half the size', color, {'subsampling': '4:2:0'}
    yield 'progressive', color, {'progressive': True}
    yield 'restart markers', color, {'restart_marker_blocks': 2}
    yield 'EXIF orientation', color, {'exif': exif}
    yield 'CMYK', waves(9, 11, 4), {}


def record(name, pixels, settings):
    file = io.BytesIO()
    mode = 'CMYK' if pixels.shape[-1] == 4 else None
    Image.fromarray(pixels, mode).save(file, 'JPEG', quality=90, optimize=True, **settings)
    decoded = Image.open(io.BytesIO(file.getvalue()))
    if decoded.mode == 'CMYK':
        decoded = decoded.convert('RGB')
    return {
        'name': name,
        'width': decoded.width,
        'height': decoded.height,
        'channels': len(decoded.getbands()),
        'file': base64.b64encode(file.getvalue()).decode(),
        'pixels': base64.b64encode(decoded.tobytes()).decode(),
    }


def main():
    records = [json.dumps(record(*one)) for one in images()]
    text = '[\n' + ',\n'.join(records) + '\n]\n'
    (pathlib.Path(__file__).parent / 'jpeg-images.json').write_text(text)


main()
