// The quick starts with libraries that export tensor models themselves.
import { describeQuickStarts } from './quick-starts.js';

describeQuickStarts(['keras', 'torch']);
