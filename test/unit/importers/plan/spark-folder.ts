// A pipeline as Spark saves it, of stages that only have parameters. Test time only.

interface StageText {
  readonly kind: string;
  readonly params: object;
}

const metadata = (kind: string, uid: string, params: object): string =>
  `${JSON.stringify({
    class: `org.apache.spark.ml.${kind}`,
    timestamp: 1_700_000_000_000,
    sparkVersion: '3.5.5',
    uid,
    paramMap: params,
    defaultParamMap: {},
  })}\n`;

/** Its files, by path. */
export function sparkFolder(stages: readonly StageText[]): Record<string, string> {
  const uids = stages.map(({ kind }, i) => `${kind.split('.').at(-1)}_${i}`);
  const files: Record<string, string> = {
    'metadata/part-00000': metadata('PipelineModel', 'pipeline', { stageUids: uids }),
    'metadata/_SUCCESS': '',
  };
  stages.forEach(({ kind, params }, i) => {
    files[`stages/${i}_${uids[i]}/metadata/part-00000`] = metadata(kind, uids[i] ?? '', params);
  });
  return files;
}

/** Two numbers are put into a vector, which is normalized to length 1. */
export const NORM_PIPELINE = sparkFolder([
  {
    kind: 'feature.VectorAssembler',
    params: { inputCols: ['a', 'b'], outputCol: 'features', handleInvalid: 'error' },
  },
  { kind: 'feature.Normalizer', params: { inputCol: 'features', outputCol: 'norm', p: 2 } },
]);
