// The version of plans. Data only; any thread. Generated from proto/stages by proto/generate.mjs.

/** Plans of another version are refused. */
export const PLAN_VERSION = 0xd66f4c34;
