// Images for --input: PNG of every kind, JPEG as Pillow decodes it, and the conversion of their
// pixels.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { crc32, deflateSync } from 'node:zlib';
import { ErrorCode, ServalError } from '../../../../ts/base/errors.js';
import { PICTURE_PIXELS_MAX } from '../../../../ts/base/limits.js';
import { loadBinding, type DecodedImage } from '../../../../ts/engine/binding.js';
import type { Datatype } from '../../../../ts/model/snapshot.js';
import type { InputInfo } from '../../../../ts/library/types.js';
import { encodeInputs } from '../../../../ts/library/tensor-request.js';
import { pictureFile } from '../../../../ts/cli/predict/images/options.js';
import { readPicture } from '../../../../ts/cli/predict/images/read.js';

const refusal =
  (text: RegExp) =>
  (error: unknown): boolean =>
    error instanceof ServalError &&
    error.code === ErrorCode.InvalidArgument &&
    text.test(error.message);

/** The image, or the reason why it can't be decoded. */
const tryDecode = (file: Buffer): DecodedImage | string =>
  loadBinding().decodeImage(file, PICTURE_PIXELS_MAX);

function decode(file: Buffer): DecodedImage {
  const image = tryDecode(file);
  assert.ok(typeof image !== 'string', String(image));
  return image;
}

const refuses = (file: Buffer, text: RegExp): void => {
  const image = tryDecode(file);
  assert.ok(typeof image === 'string', 'the file was decoded');
  assert.match(image, text);
};

const chunk = (name: string, body: Uint8Array): Buffer => {
  const sizes = Buffer.alloc(8);
  const named = Buffer.concat([Buffer.from(name, 'latin1'), body]);
  sizes.writeUInt32BE(body.length);
  sizes.writeUInt32BE(crc32(named), 4);
  return Buffer.concat([sizes.subarray(0, 4), named, sizes.subarray(4)]);
};

interface Form {
  readonly depth: number;
  readonly colorType: number;
  /** The filters of the rows, in turn. */
  readonly filters?: readonly number[];
  readonly interlace?: boolean;
  readonly palette?: readonly number[];
  readonly transparency?: readonly number[];
}
const SAMPLES = [1, 0, 3, 1, 2, 0, 4];
const ADAM7 = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
] as const;

/** A PNG file with these samples; filters as in the specification (9.2). */
function png(width: number, height: number, samples: readonly number[], form: Form): Buffer {
  const { depth, colorType, filters = [0], interlace = false } = form;
  const each = SAMPLES[colorType] ?? 0;
  const bytesOf = (row: readonly number[]): number[] => {
    if (depth === 16) return row.flatMap((one) => [one >> 8, one & 255]);
    const bits = row.map((one) => one.toString(2).padStart(depth, '0')).join('');
    return (bits.match(/.{1,8}/g) ?? []).map((byte) => Number.parseInt(byte.padEnd(8, '0'), 2));
  };
  const unit = Math.max(1, (each * depth) / 8);
  const rows: number[] = [];
  for (const [x, y, stepX, stepY] of interlace ? ADAM7 : [[0, 0, 1, 1] as const]) {
    let above: number[] = [];
    for (let py = y, n = 0; py < height; py += stepY, n += 1) {
      const row: number[] = [];
      for (let px = x; px < width; px += stepX) {
        row.push(...samples.slice((py * width + px) * each, (py * width + px + 1) * each));
      }
      if (row.length === 0) break;
      const line = bytesOf(row);
      const filter = filters[n % filters.length] ?? 0;
      const guess = (i: number): number => {
        const [a, b, c] = [line[i - unit] ?? 0, above[i] ?? 0, above[i - unit] ?? 0];
        const p = a + b - c;
        const [pa, pb, pc] = [Math.abs(p - a), Math.abs(p - b), Math.abs(p - c)];
        const paeth = pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
        return [0, a, b, Math.floor((a + b) / 2), paeth][filter] ?? 0;
      };
      rows.push(filter, ...line.map((one, i) => (one - guess(i)) & 255));
      above = line;
    }
  }
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width);
  head.writeUInt32BE(height, 4);
  head.set([depth, colorType, 0, 0, interlace ? 1 : 0], 8);
  const packed = deflateSync(Buffer.from(rows));
  const half = packed.length >> 1;
  return Buffer.concat([
    Buffer.from('\u0089PNG\r\n\u001a\n', 'latin1'),
    chunk('IHDR', head),
    ...(form.palette ? [chunk('PLTE', Buffer.from(form.palette))] : []),
    ...(form.transparency ? [chunk('tRNS', Buffer.from(form.transparency))] : []),
    chunk('tEXt', Buffer.from('Title\u0000x')),
    chunk('IDAT', packed.subarray(0, half)),
    chunk('IDAT', packed.subarray(half)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

const noise = (count: number, below: number): number[] => {
  let state = 7;
  return Array.from({ length: count }, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % below;
  });
};

describe('PNG', () => {
  for (const [colorType, depths] of [
    [0, [1, 2, 4, 8, 16]],
    [2, [8, 16]],
    [4, [8, 16]],
    [6, [8, 16]],
  ] as const) {
    for (const depth of depths) {
      it(`of color type ${colorType} with ${depth} bits is what was written`, () => {
        const channels = SAMPLES[colorType] ?? 0;
        // These sizes also leave some of Adam7's passes without a pixel.
        for (const [width, height] of [
          [13, 9],
          [1, 1],
          [3, 2],
        ] as const) {
          const samples = noise(width * height * channels, 2 ** depth);
          for (const interlace of [false, true]) {
            const form = { depth, colorType, filters: [0, 1, 2, 3, 4, 4, 3, 1], interlace };
            const picture = decode(png(width, height, samples, form));
            assert.deepEqual([picture.width, picture.height], [width, height]);
            assert.equal(picture.channels, channels);
            const factor = depth < 8 ? 255 / (2 ** depth - 1) : 1;
            assert.deepEqual(
              [...picture.data],
              samples.map((one) => one * factor),
            );
          }
        }
      });
    }
  }

  it('may have a palette, and colors that are transparent', () => {
    const palette = [1, 2, 3, 4, 5, 6, 7, 8, 9];
    const form = { depth: 2, colorType: 3, palette };
    assert.deepEqual([...decode(png(3, 1, [2, 0, 1], form)).data], [7, 8, 9, 1, 2, 3, 4, 5, 6]);
    const clear = decode(png(2, 1, [0, 1], { ...form, transparency: [9] }));
    assert.deepEqual([clear.channels, ...clear.data], [4, 1, 2, 3, 9, 4, 5, 6, 255]);
    const key = { depth: 8, colorType: 2, transparency: [0, 1, 0, 2, 0, 3] };
    const keyed = decode(png(2, 1, [1, 2, 3, 1, 2, 4], key));
    assert.deepEqual([keyed.channels, ...keyed.data], [4, 1, 2, 3, 0, 1, 2, 4, 255]);
    const gray = decode(png(2, 1, [1, 0], { depth: 1, colorType: 0, transparency: [0, 1] }));
    assert.deepEqual([gray.channels, ...gray.data], [2, 255, 0, 0, 255]);
  });

  it('keeps a 16-bit color key as an alpha channel', () => {
    const key = { depth: 16, colorType: 2, transparency: [1, 2, 3, 4, 5, 6] };
    const keyed = decode(png(2, 1, [258, 772, 1286, 258, 772, 1287], key));
    assert.deepEqual(
      [keyed.channels, ...keyed.data],
      [4, 258, 772, 1286, 0, 258, 772, 1287, 65_535],
    );
  });

  const good = png(4, 4, noise(48, 256), { depth: 8, colorType: 2 });
  const changed = (at: number, ...bytes: number[]): Buffer => {
    const copy = Buffer.from(good);
    copy.set(bytes, at);
    return copy;
  };
  /** A changed header with its right checksum. */
  const headed = (at: number, ...bytes: number[]): Buffer => {
    const copy = changed(at, ...bytes);
    copy.writeUInt32BE(crc32(copy.subarray(12, 29)), 29);
    return copy;
  };
  const gray = { depth: 8, colorType: 0 };
  for (const [what, file, text] of [
    ['a depth of 3 bits', headed(24, 3), /byte 24 of \d+: expected 8 or 16 bits .* 2, got 3/],
    ['an unknown color type', headed(25, 5), /byte 25 of \d+: expected the color type .* got 5/],
    ['an unknown interlacing', headed(28, 2), /byte 28 of \d+: unknown interlace method 2/],
    [
      'too many pixels',
      headed(16, 127, 255, 255, 255, 127, 255, 255, 255),
      /expected at most 100000000 pixels, got 2147483647 x 2147483647/,
    ],
    ['no pixels', headed(16, 0, 0, 0, 0), /byte 16 of \d+: expected at least 1 x 1.* got 0 x 4/],
    ['a header without its checksum', changed(23, 3), /IHDR: CRC error/],
    ['a first chunk that is no header', changed(12, 65), /byte 8 of \d+: expected a header/],
    ['too little data', headed(23, 9), /: Not enough image data/],
    ['too much data', headed(23, 3), /IDAT: Too much/],
    ['far too little data', headed(18, 32, 0, 0, 0, 32, 0), /too few bytes for 8192 x 8192/],
    ['a cut chunk', good.subarray(0, good.length - 30), /byte (\d+) of \1: the file is truncated/],
    ['a cut header', good.subarray(0, 20), /byte 20 of 20: the file is truncated/],
    [
      'an index outside the palette',
      png(1, 1, [3], { depth: 2, colorType: 3, palette: [1, 2, 3] }),
      /a pixel has the index 3, but the palette has 1 entries/,
    ],
    ['no palette', png(1, 1, [3], { depth: 2, colorType: 3 }), /Missing PLTE/],
    ['an unknown filter', png(1, 2, [3, 3], { ...gray, filters: [9] }), /bad adaptive filter/],
    ['a short color key', png(1, 1, [3], { ...gray, transparency: [1] }), /tRNS: invalid/],
  ] as const) {
    it(`is refused with ${what}`, () => {
      refuses(file, /^PNG: byte \d+ of \d+: /);
      refuses(file, text);
    });
  }

  it('is decoded when only a chunk of text is damaged', () => {
    const at = good.indexOf('Title');
    assert.deepEqual(decode(changed(at, 0)).data, decode(good).data);
  });

  it('is an image or an error when it is cut or changed anywhere', () => {
    for (let at = 0; at < good.length; at += 1) {
      for (const file of [good.subarray(0, at), changed(at, 255), changed(at, 0)]) {
        const image = tryDecode(file);
        if (typeof image === 'string') assert.match(image, /^PNG: byte |^expected a PNG or JPEG/);
        else assert.equal(image.data.length, image.width * image.height * image.channels);
      }
    }
  });
});

interface JpegRecord {
  readonly name: string;
  readonly width: number;
  readonly height: number;
  readonly channels: number;
  readonly file: string;
  readonly pixels: string;
}

describe('JPEG', () => {
  const path = 'test/unit/cli/predict/jpeg-images.json';
  const records = JSON.parse(readFileSync(path, 'utf8')) as readonly JpegRecord[];

  for (const { name, file, pixels, ...form } of records) {
    it(`has the pixels that Pillow decodes: ${name}`, () => {
      const { width, height, channels, data } = decode(Buffer.from(file, 'base64'));
      assert.deepEqual({ width, height, channels }, form);
      const wanted = Buffer.from(pixels, 'base64');
      assert.equal(data.length, wanted.length);
      const off = Math.max(...wanted.map((one, i) => Math.abs(one - (data[i] ?? 0))));
      // Pillow rounds when it converts inks; TensorFlow and Serval truncate.
      assert.ok(off <= (name === 'CMYK' ? 1 : 0), `off by ${off}`);
    });

    it(`is an image or an error when it is cut or changed anywhere: ${name}`, () => {
      const good = Buffer.from(file, 'base64');
      for (let at = 2; at < good.length; at += 1) {
        refuses(good.subarray(0, at), /^JPEG: byte \d+ of \d+: /);
        for (const byte of [0, 255]) {
          const changed = Buffer.from(good);
          changed[at] = byte;
          const image = tryDecode(changed);
          if (typeof image === 'string') assert.match(image, /^JPEG: byte \d+ of \d+: ./);
          else assert.equal(image.data.length, image.width * image.height * image.channels);
        }
      }
    });
  }

  const color = Buffer.from(records.find(({ name }) => name === 'color')?.file ?? '', 'base64');
  const frameAt = color.indexOf(Buffer.from([0xff, 0xc0]));
  const framed = (at: number, ...bytes: number[]): Buffer => {
    const copy = Buffer.from(color);
    copy.set(bytes, frameAt + at);
    return copy;
  };
  const half = color.length >> 1;
  for (const [what, file, text] of [
    ['too many pixels', framed(5, 255, 0, 255, 0), /at most 100000000 pixels, got 65280 x 65280/],
    ['far too little data', framed(5, 32, 0, 32, 0), /too few bytes for 8192 x 8192 pixels/],
    ['12 bits', framed(4, 12), /Unsupported JPEG data precision 12/],
    ['half of its bytes', color.subarray(0, half), /byte (\d+) of \1: the file is truncated/],
    [
      'a hole in its pixels',
      Buffer.concat([color.subarray(0, half), color.subarray(-2)]),
      /premature end of data segment/,
    ],
  ] as const) {
    it(`is refused with ${what}`, () => {
      refuses(file, text);
    });
  }
});

const info = (datatype: Datatype, shape: number[], unknownRank = false): InputInfo => ({
  name: 'x',
  datatype,
  shape,
  unknownRank,
});

describe('a picture for an input', () => {
  const pixels = [10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120, 130, 140, 150, 160, 170, 180];
  const rgb = png(3, 2, pixels, { depth: 8, colorType: 2 });
  const gray = png(2, 1, [7, 9], { depth: 8, colorType: 0 });
  const read = (file: Buffer, input: InputInfo, query = '') => {
    const { path = '', options } = pictureFile(`a.png${query}`) ?? {};
    assert.ok(options);
    return readPicture(path, file, input, options);
  };
  const channel = (c: number): number[] => pixels.filter((_, i) => i % 3 === c);

  it("takes the model's layout", () => {
    for (const shape of [
      [-1, 2, 3, 3],
      [1, -1, -1, 3],
      [-1, -1, -1, 3],
    ]) {
      const query = shape[2] === 3 ? '?layout=nhwc' : '';
      const { data, shape: own } = read(rgb, info('UINT8', shape), query);
      assert.deepEqual([[...data], own], [pixels, [1, 2, 3, 3]]);
    }
    const planes = [...channel(0), ...channel(1), ...channel(2)];
    const first = read(rgb, info('FP32', [-1, 3, -1, -1]));
    assert.deepEqual([[...first.data], first.shape], [planes, [1, 3, 2, 3]]);
    const bare = read(rgb, info('FP32', [3, 2, 3]), '?layout=chw');
    assert.deepEqual([[...bare.data], bare.shape], [planes, [3, 2, 3]]);
    const free = read(rgb, info('FP32', [], true), '?layout=hwc');
    assert.deepEqual(free.shape, [2, 3, 3]);
    const flat = read(gray, info('FP32', [-1, -1, -1]), '?layout=nhw');
    assert.deepEqual(
      [[...flat.data], flat.shape],
      [
        [7, 9],
        [1, 1, 2],
      ],
    );
  });

  it('has colors as they are asked for, and loses none silently', () => {
    const any = info('UINT8', [-1, -1, 3]);
    assert.deepEqual([...read(gray, any).data], [7, 7, 7, 9, 9, 9]);
    assert.deepEqual([...read(rgb, any, '?color=bgr').data].slice(0, 3), [30, 20, 10]);
    const one = info('UINT8', [-1, -1, 1]);
    assert.deepEqual([...read(gray, one).data], [7, 9]);
    assert.throws(() => read(rgb, one), refusal(/a.png: input 'x' has one channel.*\?color=gray/));
    assert.deepEqual([...read(rgb, one, '?color=gray').data].slice(0, 2), [18, 48]);
    const four = info('UINT8', [-1, -1, 4]);
    assert.deepEqual([...read(gray, four).data], [7, 7, 7, 255, 9, 9, 9, 255]);
    const clear = png(1, 1, [1, 2, 3, 128], { depth: 8, colorType: 6 });
    assert.deepEqual([...read(clear, four).data], [1, 2, 3, 128]);
    assert.throws(
      () => read(clear, any),
      refusal(/3 channels, but.*alpha channel: use \?alpha=drop/),
    );
    assert.deepEqual([...read(clear, any, '?alpha=drop').data], [1, 2, 3]);
  });

  it('is scaled only when that is asked for', () => {
    const any = info('FP32', [-1, -1, 3]);
    assert.deepEqual([...read(rgb, any).data], pixels);
    const scaled = read(rgb, any, '?scale=1/10&mean=1,2,3&std=1,2,.5').data;
    assert.deepEqual([...scaled].slice(0, 6), [0, 0, 0, 3, 1.5, 6]);
    const minus = read(rgb, any, '?mean=127.5&std=127.5').data;
    assert.equal(minus[0], (10 - 127.5) / 127.5);
    const halves = read(rgb, info('UINT8', [-1, -1, 3]), '?scale=0.25');
    assert.throws(
      () => encodeInputs([info('UINT8', [-1, -1, 3])], { x: halves }),
      refusal(/element 0: expected a whole number from 0 to 255, got 2.5/),
    );
    const deep = png(1, 1, [65_535], { depth: 16, colorType: 0 });
    assert.deepEqual([...read(deep, info('FP32', [-1, -1, 1])).data], [65_535]);
  });

  it('is resized only when that is asked for', () => {
    const fixed = info('FP32', [-1, 4, 4, 3]);
    assert.throws(
      () => read(rgb, fixed, '?layout=nhwc'),
      refusal(/expects 4 x 4 pixels, got 3 x 2: use \?resize=4x4/),
    );
    // The result of tf.image.resize([[0, 100]], [1, 4]).
    const line = png(2, 1, [0, 100], { depth: 8, colorType: 0 });
    const wide = read(line, info('FP32', [1, 4, 1]), '?resize=4x1&layout=hwc');
    assert.deepEqual([...wide.data], [0, 25, 75, 100]);
    const whole = read(line, info('UINT8', [-1, -1, 1]), '?resize=3x2');
    assert.deepEqual(
      [[...whole.data], whole.shape],
      [
        [0, 50, 100, 0, 50, 100],
        [2, 3, 1],
      ],
    );
    const other = '?resize=3x3&layout=nhwc';
    assert.throws(() => read(rgb, fixed, other), refusal(/expects 4 x 4 pixels, got 3 x 3/));
  });

  it('is refused where what is meant would be a guess', () => {
    assert.throws(() => read(rgb, info('FP32', [-1, 3, 5, 3])), refusal(/\[\?,3,5,3\].*\?layout=/));
    assert.throws(() => read(rgb, info('FP32', [-1, 4])), refusal(/\[\?,4\].*\?layout=/));
    assert.throws(() => read(rgb, info('FP32', [], true)), refusal(/\[\.\.\.\].*\?layout=/));
    const wrong = () => read(rgb, info('FP32', [-1, -1, -1, 3]), '?layout=hwc');
    assert.throws(wrong, refusal(/which is not hwc/));
    assert.throws(() => read(rgb, info('FP32', [8, -1, -1, 3])), refusal(/a batch of 8/));
    assert.throws(() => read(rgb, info('BOOL', [-1, -1, 3])), refusal(/is BOOL/));
    const two = () => read(rgb, info('FP32', [-1, -1, 2]), '?layout=hwc');
    assert.throws(two, refusal(/has 2 channels/));
    const means = () => read(gray, info('FP32', [-1, -1, 1]), '?mean=1,2,3');
    assert.throws(means, refusal(/as many numbers for mean, got 3/));
  });

  for (const [query, text] of [
    ['?scale=x', /scale: expected a number or a fraction/],
    ['?scale=1/0', /scale: expected/],
    ['?std=0', /std: must not be 0/],
    ['?mean=1,2', /mean: expected one number, or one/],
    ['?resize=4', /resize: expected WIDTHxHEIGHT, got "4"/],
    ['?resize=0x9', /resize: expected/],
    ['?layout=nhhh', /layout: expected nhwc/],
    [
      '?colour=gray',
      /expected image options scale, mean, std, resize, layout, color, alpha, got "colour"/,
    ],
    ['?alpha=keep', /alpha: expected drop/],
    ['?scale=1&scale=2', /scale is given twice/],
  ] as const) {
    it(`is refused: ${query}`, () => {
      assert.throws(() => pictureFile(`a.png${query}`), refusal(text));
    });
  }

  it('has a name that says so', () => {
    assert.equal(pictureFile('a.npy'), undefined);
    assert.equal(pictureFile('a.png.json'), undefined);
    assert.equal(pictureFile('A b.JPEG?scale=2')?.path, 'A b.JPEG');
  });

  it('may be JPEG, whatever its name', () => {
    const path = 'test/unit/cli/predict/jpeg-images.json';
    const records = JSON.parse(readFileSync(path, 'utf8')) as readonly JpegRecord[];
    const any = info('UINT8', [-1, -1, 3]);
    for (const { name, width, height, file } of records) {
      const { data, shape } = read(Buffer.from(file, 'base64'), any);
      assert.deepEqual([data.length, shape], [width * height * 3, [height, width, 3]], name);
      if (name === 'grayscale') assert.deepEqual([data[0], data[0]], [data[1], data[2]]);
    }
    const cut = Buffer.from(records[0]?.file ?? '', 'base64').subarray(0, 60);
    assert.throws(() => read(cut, any), refusal(/^a.png: JPEG: byte 60 of 60: .* truncated/));
    const none = () => read(Buffer.from('GIF89a'), any);
    assert.throws(none, refusal(/^a.png: expected a PNG or JPEG image, got GIF/));
  });
});
