// README's quick starts for libraries that export tensor models themselves.
import { describeReadme } from './readme.js';

describeReadme(['keras', 'torch']);
