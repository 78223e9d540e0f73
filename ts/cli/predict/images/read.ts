// Reads an image file, PNG or JPEG by its content, as an input's values. Control plane; loads the
// addon, which decodes with libpng and libjpeg.
import { ErrorCode, ServalError } from '../../../base/errors.js';
import { PICTURE_PIXELS_MAX } from '../../../base/limits.js';
import { loadBinding, type DecodedImage } from '../../../engine/binding.js';
import type { InputInfo } from '../../../library/types.js';
import type { PictureOptions } from './options.js';
import { pixelsFor, type Pixels } from './pixels.js';

/** Errors: InvalidArgument: not an image, or one that does not fit the input. */
export function readPicture(
  path: string,
  bytes: Buffer,
  info: InputInfo,
  options: PictureOptions,
): Pixels {
  return pixelsFor(path, decoded(path, bytes), info, options);
}

function decoded(path: string, bytes: Buffer): DecodedImage {
  const image = loadBinding().decodeImage(bytes, PICTURE_PIXELS_MAX);
  if (typeof image !== 'string') return image;
  throw new ServalError(ErrorCode.InvalidArgument, `${path}: ${image}`);
}
