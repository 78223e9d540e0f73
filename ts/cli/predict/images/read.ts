// Reads an image file, PNG or JPEG by its content, as an input's values. Pure; control plane.
import jpeg from 'jpeg-js';
import { ErrorCode, ServalError, reasonOf } from '../../../base/errors.js';
import { PICTURE_PIXELS_MAX } from '../../../base/limits.js';
import type { InputInfo } from '../../../library/types.js';
import type { PictureOptions } from './options.js';
import { pixelsFor, type Pixels } from './pixels.js';
import { PNG_BEGIN, readPng, type Picture } from './png.js';

const JPEG_BEGIN = Buffer.from([0xff, 0xd8]);
const JPEG_MEMORY_MB = 2048;

/** Errors: InvalidArgument: not an image, or one that does not fit the input. */
export function readPicture(
  path: string,
  bytes: Buffer,
  info: InputInfo,
  options: PictureOptions,
): Pixels {
  return pixelsFor(path, decoded(path, bytes), info, options);
}

function decoded(path: string, bytes: Buffer): Picture {
  const begins = (with_: Buffer): boolean => bytes.subarray(0, with_.length).equals(with_);
  try {
    if (begins(PNG_BEGIN)) return readPng(bytes);
    if (begins(JPEG_BEGIN)) return readJpeg(bytes);
  } catch (error) {
    throw new ServalError(ErrorCode.InvalidArgument, `${path}: ${reasonOf(error)}`);
  }
  throw new ServalError(ErrorCode.InvalidArgument, `${path}: expected a PNG or JPEG image`);
}

/** Its EXIF orientation is not applied. */
function readJpeg(bytes: Buffer): Picture {
  try {
    const { width, height, data } = jpeg.decode(bytes, {
      useTArray: true,
      formatAsRGBA: false,
      tolerantDecoding: false,
      maxResolutionInMP: PICTURE_PIXELS_MAX / 1e6,
      maxMemoryUsageInMB: JPEG_MEMORY_MB,
    });
    return { width, height, channels: 3, data };
  } catch (error) {
    throw new ServalError(ErrorCode.InvalidArgument, `JPEG: ${reasonOf(error)}`);
  }
}
