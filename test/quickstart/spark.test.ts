// README's quick start of a pipeline, as Spark saved it.
import { describeReadme } from './readme.js';

describeReadme(['pyspark']);
