// Builds interop_server into build/native-plain. Test time only.
import { buildTargets } from '../../run.mjs';

process.exit(buildTargets(['interop_server']) ? 0 : 1);
