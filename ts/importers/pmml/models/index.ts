// The PMML model elements that are lowered by a file of this folder, by name. Importer's worker
// thread.
import type { ModelLowerings } from '../context.js';
import { lowerAnomaly } from './anomaly.js';
import { lowerAssociation } from './association.js';
import { lowerClustering } from './clustering.js';
import { lowerGaussianProcess } from './gaussian-process.js';
import { lowerGeneralRegression } from './general-regression.js';
import { lowerNaiveBayes } from './naive-bayes.js';
import { lowerNearestNeighbor } from './nearest-neighbor.js';
import { lowerNeuralNetwork } from './neural-network.js';
import { lowerRegression } from './regression.js';
import { lowerSupportVectors } from './support-vectors.js';

/** By element name. */
export const LEAF_MODELS: ModelLowerings = {
  AnomalyDetectionModel: lowerAnomaly,
  AssociationModel: lowerAssociation,
  ClusteringModel: lowerClustering,
  GaussianProcessModel: lowerGaussianProcess,
  GeneralRegressionModel: lowerGeneralRegression,
  NaiveBayesModel: lowerNaiveBayes,
  NearestNeighborModel: lowerNearestNeighbor,
  NeuralNetwork: lowerNeuralNetwork,
  RegressionModel: lowerRegression,
  SupportVectorMachineModel: lowerSupportVectors,
};
