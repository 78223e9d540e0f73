// Paths and bodies of V2 REST inference that accepted and refused cases share. Data only. Test time
// only.

export const infer = (model: string): string => `/v2/models/${model}/infer`;
export const HALF = infer('half_plus_three');

/** A valid request to HALF, with more members. */
export const x = (more: string): string =>
  `{"inputs":[{"name":"x","datatype":"FP32","shape":[3],"data":[1,2,5]}]${more}}`;
/** The member that requests classes of its output. */
export const classes = (wanted: string): string =>
  `,"outputs":[{"name":"y","parameters":{"classification":${wanted}}}]`;
