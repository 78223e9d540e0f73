// The rows for TensorFlow models: images, Examples, small requests, messages, loading.
import { examples } from './examples.mjs';
import { images } from './images.mjs';
import { loading } from './loading.mjs';
import { small } from './small.mjs';
import { messages } from './messages.mjs';

export const tensorflow = [...images, ...examples, ...small, ...messages, ...loading];
