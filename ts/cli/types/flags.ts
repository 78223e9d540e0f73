// The flags of `serval types`. Data only; control plane.
import type { FlagRow } from '../../config/values/flag-row.js';
import { HEADER } from '../header-flag.js';

export const TYPES_FLAGS: readonly FlagRow[] = [HEADER];
