<<<<<<< HEAD
// README's quick starts for libraries that export tensor models themselves.
import { describeReadme } from './readme.js';
=======
// The quick starts with libraries that export tensor models themselves.
import { describeQuickStarts } from './quick-starts.js';
>>>>>>> main

describeQuickStarts(['keras', 'torch']);
