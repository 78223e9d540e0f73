// README's quick starts of libraries that export tensors' models themselves.
import { describeReadme } from './readme.js';

describeReadme(['keras', 'torch']);
