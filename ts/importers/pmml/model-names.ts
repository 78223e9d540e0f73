// The names of PMML's model elements. Importer's worker thread.

/** Elements that PMML has and that are not lowered, with the reason. */
export const UNSUPPORTED_MODELS: Readonly<Record<string, string>> = {
  TextModel: 'text models are not supported',
  BaselineModel: 'baseline models are not supported',
  BayesianNetworkModel: 'Bayesian networks are not supported',
  SequenceModel: 'sequence models are not supported',
  TimeSeriesModel:
    'time series models are not supported: the standard has no field for the point in time of a request',
};

const MODELS = new Set([
  'AnomalyDetectionModel',
  'AssociationModel',
  'ClusteringModel',
  'GaussianProcessModel',
  'GeneralRegressionModel',
  'MiningModel',
  'NaiveBayesModel',
  'NearestNeighborModel',
  'NeuralNetwork',
  'RegressionModel',
  'RuleSetModel',
  'Scorecard',
  'SupportVectorMachineModel',
  'TreeModel',
]);

/** Is this the name of a model element? */
export function isModel(name: string): boolean {
  return MODELS.has(name) || Object.hasOwn(UNSUPPORTED_MODELS, name);
}
