// The quick start with a pipeline that Spark saved.
import { describeQuickStarts } from './quick-starts.js';

describeQuickStarts(['pyspark']);
