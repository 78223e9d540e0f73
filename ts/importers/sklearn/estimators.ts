// The classes of estimators that can be lowered, by the name that a file has. Importer's worker
// thread; constants.
import type { Lower } from './frame/step.js';
import { adaBoostClassifier, adaBoostRegressor } from './ensembles/adaboost.js';
import { baggingClassifier, baggingRegressor } from './ensembles/bagging.js';
import { stackingClassifier, stackingRegressor } from './ensembles/stacking.js';
import { votingClassifier, votingRegressor } from './ensembles/voting.js';
import { centers, discreteBayes, gaussianBayes } from './models/bayes.js';
import {
  gradientClassifier,
  gradientRegressor,
  histogramClassifier,
  histogramRegressor,
} from './models/boosting.js';
import { lowerColumns, lowerPipeline, lowerSearch, lowerUnion } from './models/compose.js';
import { discretizer, oneHot, ordinal, target } from './models/encoders.js';
import { missingIndicator, simpleImputer } from './models/imputers.js';
import {
  discriminantProbability,
  linearClassifier,
  linearRegressor,
  logisticProbability,
  logLink,
  noProbability,
  sgdProbability,
  tweedieLink,
} from './models/linear.js';
import { machineClassifier, machineRegressor, oneClassMachine } from './models/machines.js';
import { neighborClassifier, neighborRegressor } from './models/neighbors.js';
import { perceptronClassifier, perceptronRegressor } from './models/networks.js';
import {
  bestFeatures,
  polynomial,
  projection,
  supported,
  varianceThreshold,
} from './models/projections.js';
import {
  binarizers,
  functionTransformer,
  maxAbsScaler,
  minMaxScaler,
  normalizers,
  robustScaler,
  standardScaler,
} from './models/scalers.js';
import { selectFromModel } from './models/selection.js';
import { isolationForest, treeClassifier, treeRegressor } from './models/trees.js';

/** Groups of the table in docs/reference/sklearn.md. */
export type Group =
  | ('composition' | 'scalers' | 'encoders' | 'missing values')
  | ('products, components, selection' | 'linear models' | 'trees' | 'boosted trees')
  | ('ensembles' | 'support vector machines' | 'other models');

export interface Estimator {
  readonly group: Group;
  readonly lower: Lower;
}

const REGRESSIONS =
  'LinearRegression Ridge RidgeCV Lasso LassoCV LassoLars LassoLarsCV LassoLarsIC Lars LarsCV ' +
  'ElasticNet ElasticNetCV MultiTaskLasso MultiTaskLassoCV MultiTaskElasticNet ' +
  'MultiTaskElasticNetCV OrthogonalMatchingPursuit OrthogonalMatchingPursuitCV BayesianRidge ' +
  'ARDRegression HuberRegressor TheilSenRegressor SGDRegressor PassiveAggressiveRegressor ' +
  'LinearSVR QuantileRegressor';

/** Names of classes, separated by blanks. */
type Row = readonly [names: string, lower: Lower];

const ROWS: Readonly<Record<Group, readonly Row[]>> = {
  composition: [
    ['Pipeline', lowerPipeline],
    ['ColumnTransformer', lowerColumns],
    ['FeatureUnion', lowerUnion],
    ['GridSearchCV RandomizedSearchCV HalvingGridSearchCV HalvingRandomSearchCV', lowerSearch],
  ],
  scalers: [
    ['StandardScaler', standardScaler],
    ['MinMaxScaler', minMaxScaler],
    ['MaxAbsScaler', maxAbsScaler],
    ['RobustScaler', robustScaler],
    ['Normalizer', normalizers],
    ['Binarizer', binarizers],
    ['FunctionTransformer', functionTransformer],
  ],
  encoders: [
    ['OneHotEncoder', oneHot],
    ['OrdinalEncoder', ordinal],
    ['TargetEncoder', target],
    ['KBinsDiscretizer', discretizer],
  ],
  'missing values': [
    ['SimpleImputer', simpleImputer],
    ['MissingIndicator', missingIndicator],
  ],
  'products, components, selection': [
    ['PolynomialFeatures', polynomial],
    ['PCA IncrementalPCA TruncatedSVD', projection],
    ['VarianceThreshold', varianceThreshold],
    ['SelectKBest', bestFeatures],
    ['SelectFromModel', selectFromModel],
    ['RFE RFECV SequentialFeatureSelector', supported],
  ],
  'linear models': [
    ['LogisticRegression LogisticRegressionCV', linearClassifier(logisticProbability)],
    ['SGDClassifier', linearClassifier(sgdProbability)],
    [
      'LinearSVC Perceptron PassiveAggressiveClassifier RidgeClassifier RidgeClassifierCV',
      linearClassifier(noProbability),
    ],
    ['LinearDiscriminantAnalysis', linearClassifier(discriminantProbability)],
    [REGRESSIONS, linearRegressor()],
    ['PoissonRegressor GammaRegressor', linearRegressor(logLink)],
    ['TweedieRegressor', linearRegressor(tweedieLink)],
  ],
  trees: [
    [
      'DecisionTreeClassifier ExtraTreeClassifier RandomForestClassifier ExtraTreesClassifier',
      treeClassifier,
    ],
    [
      'DecisionTreeRegressor ExtraTreeRegressor RandomForestRegressor ExtraTreesRegressor',
      treeRegressor,
    ],
    ['IsolationForest', isolationForest],
  ],
  'boosted trees': [
    ['GradientBoostingClassifier', gradientClassifier],
    ['GradientBoostingRegressor', gradientRegressor],
    ['HistGradientBoostingClassifier', histogramClassifier],
    ['HistGradientBoostingRegressor', histogramRegressor],
  ],
  ensembles: [
    ['AdaBoostClassifier', adaBoostClassifier],
    ['AdaBoostRegressor', adaBoostRegressor],
    ['BaggingClassifier', baggingClassifier],
    ['BaggingRegressor', baggingRegressor],
    ['StackingClassifier', stackingClassifier],
    ['StackingRegressor', stackingRegressor],
    ['VotingClassifier', votingClassifier],
    ['VotingRegressor', votingRegressor],
  ],
  'support vector machines': [
    ['SVC NuSVC', machineClassifier],
    ['SVR NuSVR', machineRegressor],
    ['OneClassSVM', oneClassMachine],
  ],
  'other models': [
    ['MLPClassifier', perceptronClassifier],
    ['MLPRegressor', perceptronRegressor],
    ['KNeighborsClassifier', neighborClassifier],
    ['KNeighborsRegressor', neighborRegressor],
    ['GaussianNB', gaussianBayes],
    ['MultinomialNB', discreteBayes('multinomial')],
    ['ComplementNB', discreteBayes('complement')],
    ['BernoulliNB', discreteBayes('bernoulli')],
    ['KMeans MiniBatchKMeans', centers],
  ],
};

/** scikit-learn's classes; those of other packages are not among them. */
export const ESTIMATORS: ReadonlyMap<string, Estimator> = new Map(
  Object.entries(ROWS).flatMap(([group, rows]) =>
    rows.flatMap(([names, lower]) =>
      names.split(' ').map((name) => [name, { group: group as Group, lower }] as const),
    ),
  ),
);
