// Builds tabular_run into build/native-plain. Test time only.
import { buildTargets } from '../../run.mjs';

process.exit(buildTargets(['tabular_run']) ? 0 : 1);
