// The kinds of stage of a plan with their attributes. Data only; any thread.
// Generated from proto/stages by proto/generate.mjs.
import type { Blocks, Empty, Expressions, Real, Values } from '../attributes.js';

export const FOREST_SUM = ['sum', 'mean', 'each'] as const;
export type ForestSum = (typeof FOREST_SUM)[number];

export const ONE_HOT_INVALID = ['error', 'keep', 'zeros'] as const;
export type OneHotInvalid = (typeof ONE_HOT_INVALID)[number];

export const ASSEMBLER_INVALID = ['error', 'keep', 'nan'] as const;
export type AssemblerInvalid = (typeof ASSEMBLER_INVALID)[number];

export const WORD2VEC_KERNEL = ['average', 'sqrt'] as const;
export type Word2vecKernel = (typeof WORD2VEC_KERNEL)[number];

export const MATH_UNARY = ['log', 'exp', 'sqrt', 'sin', 'cos', 'tan', 'abs', 'logit', 'floor', 'ceil', 'round_of'] as const;
export type MathUnary = (typeof MATH_UNARY)[number];

export const MATH_BINARY = ['add', 'sub', 'mul', 'div', 'rem', 'log_n', 'pow', 'min', 'max'] as const;
export type MathBinary = (typeof MATH_BINARY)[number];

export const SCORE_LINK = ['none', 'sigmoid', 'first_sigmoid', 'second_sigmoid', 'gbt', 'softmax', 'normalize'] as const;
export type ScoreLink = (typeof SCORE_LINK)[number];

export const DISTANCE = ['euclidean', 'cosine'] as const;
export type Distance = (typeof DISTANCE)[number];

export const FEATURE_RULE = ['any', 'nonnegative', 'binary'] as const;
export type FeatureRule = (typeof FEATURE_RULE)[number];

export const GLM_LINK = ['identity', 'log', 'inverse', 'logit', 'probit', 'cloglog', 'sqrt', 'power'] as const;
export type GlmLink = (typeof GLM_LINK)[number];

export const GLM_FAMILY = ['gaussian', 'binomial', 'poisson', 'gamma', 'tweedie'] as const;
export type GlmFamily = (typeof GLM_FAMILY)[number];

export const PROBABILITY_ROLE = ['probability', 'prediction'] as const;
export type ProbabilityRole = (typeof PROBABILITY_ROLE)[number];

export const GREATEST_ROLE = ['index', 'value'] as const;
export type GreatestRole = (typeof GREATEST_ROLE)[number];

export const LABELER_ROLE = ['probabilities', 'labels'] as const;
export type LabelerRole = (typeof LABELER_ROLE)[number];

export const GLM_ROLE = ['prediction', 'linkPrediction'] as const;
export type GlmRole = (typeof GLM_ROLE)[number];

export const AFT_ROLE = ['prediction', 'quantiles'] as const;
export type AftRole = (typeof AFT_ROLE)[number];

export const SVM_KERNEL = ['linear', 'polynomial', 'radialBasis', 'sigmoid'] as const;
export type SvmKernel = (typeof SVM_KERNEL)[number];

export const HIDDEN_FUNCTION = ['logistic', 'tanh', 'rectifier', 'identity'] as const;
export type HiddenFunction = (typeof HIDDEN_FUNCTION)[number];

export const NEIGHBOR_METRIC = ['euclidean', 'manhattan', 'chebyshev', 'minkowski'] as const;
export type NeighborMetric = (typeof NEIGHBOR_METRIC)[number];

export const INVALID_VALUES = ['refuse', 'as_is', 'as_missing', 'replace'] as const;
export type InvalidValues = (typeof INVALID_VALUES)[number];

export const OUTLIERS = ['as_is', 'as_missing', 'as_extreme'] as const;
export type Outliers = (typeof OUTLIERS)[number];

export const AGGREGATE_FUNCTION = ['count', 'sum', 'average', 'min', 'max'] as const;
export type AggregateFunction = (typeof AGGREGATE_FUNCTION)[number];

export const TERM_WEIGHTS = ['termFrequency', 'binary', 'logarithmic'] as const;
export type TermWeights = (typeof TERM_WEIGHTS)[number];

export const TREE_MISSING = ['none', 'last', 'null', 'default', 'weighted', 'aggregate'] as const;
export type TreeMissing = (typeof TREE_MISSING)[number];

export const SEGMENT_MISSING = ['continue', 'skip', 'missing'] as const;
export type SegmentMissing = (typeof SEGMENT_MISSING)[number];

export const COMBINE_METHOD = ['sum', 'weightedSum', 'average', 'weightedAverage', 'median', 'weightedMedian', 'majorityVote', 'weightedMajorityVote', 'max'] as const;
export type CombineMethod = (typeof COMBINE_METHOD)[number];

export const RULES_METHOD = ['firstHit', 'weightedSum', 'weightedMax'] as const;
export type RulesMethod = (typeof RULES_METHOD)[number];

export const ANOMALY_ALGORITHM = ['iforest', 'clusterMeanDist'] as const;
export type AnomalyAlgorithm = (typeof ANOMALY_ALGORITHM)[number];

export const ASSOCIATION_ALGORITHM = ['recommendation', 'exclusiveRecommendation', 'ruleAssociation'] as const;
export type AssociationAlgorithm = (typeof ASSOCIATION_ALGORITHM)[number];

export const GAUSSIAN_KERNEL = ['squaredExponential', 'absoluteExponential', 'generalizedExponential'] as const;
export type GaussianKernel = (typeof GAUSSIAN_KERNEL)[number];

export const REGRESSION_MODEL = ['linear', 'generalized', 'multinomial', 'ordinal', 'cox'] as const;
export type RegressionModel = (typeof REGRESSION_MODEL)[number];

export const PMML_LINK = ['identity', 'logit', 'probit', 'cloglog', 'loglog', 'cauchit', 'log', 'logc', 'negbin', 'oddspower', 'power'] as const;
export type PmmlLink = (typeof PMML_LINK)[number];

export const MEASURE = ['euclidean', 'squaredEuclidean', 'chebychev', 'cityBlock', 'minkowski', 'simpleMatching', 'jaccard', 'tanimoto', 'binarySimilarity'] as const;
export type Measure = (typeof MEASURE)[number];

export const COMPARE_FUNCTION = ['absDiff', 'gaussSim', 'delta', 'equal'] as const;
export type CompareFunction = (typeof COMPARE_FUNCTION)[number];

export const SCORING = ['average', 'weightedAverage', 'median', 'majorityVote', 'weightedMajorityVote'] as const;
export type Scoring = (typeof SCORING)[number];

export const ACTIVATION = ['threshold', 'logistic', 'tanh', 'identity', 'exponential', 'reciprocal', 'square', 'Gauss', 'sine', 'cosine', 'Elliott', 'arctan', 'rectifier', 'radialBasis'] as const;
export type Activation = (typeof ACTIVATION)[number];

export const LAYER_NORMALIZATION = ['none', 'simplemax', 'softmax'] as const;
export type LayerNormalization = (typeof LAYER_NORMALIZATION)[number];

export const REGRESSION_NORMALIZATION = ['none', 'simplemax', 'softmax', 'logit', 'probit', 'cloglog', 'exp', 'loglog', 'cauchit'] as const;
export type RegressionNormalization = (typeof REGRESSION_NORMALIZATION)[number];

export const SVM_METHOD = ['regression', 'oneAgainstAll', 'oneAgainstOne'] as const;
export type SvmMethod = (typeof SVM_METHOD)[number];

/** Computes each output column from an expression. */
export interface DeriveAttributes {
  /** one for each output, with the output's type */
  readonly expressions: Expressions;
  /** a row that fails is rejected by the stage that reads the column, not here */
  readonly deferred?: boolean | undefined;
  /** evaluates SQL in Spark's ANSI mode */
  readonly ansi?: boolean | undefined;
  /** the expressions as SQL text, for errors */
  readonly written?: readonly string[] | undefined;
}

/** Looks an integer up in a table; the output is missing if the integer is missing or outside of the table. */
export interface PickAttributes {
  /** the table of a String output */
  readonly texts?: readonly string[] | undefined;
  /** the table of an integer output */
  readonly integers?: Int32Array | undefined;
  /** the table of a real output, or of a Vector output if width is above 1 */
  readonly reals?: Float64Array | undefined;
  /** the count of numbers in one entry of reals */
  readonly width?: number | undefined;
  /** an entry whose first number is NaN is a missing value */
  readonly nan_is_missing?: boolean | undefined;
}

/** Sums the leaf values of decision trees; see ts/importers/plan/forest.ts. */
export interface ForestAttributes {
  /** the feature that each node tests */
  readonly feature: Int32Array;
  /** the number that each node compares with, or the index of its set */
  readonly threshold: Float64Array;
  /** the child of each node if its test is true; ~leaf if negative */
  readonly left: Int32Array;
  /** the child of each node if its test is false; ~leaf if negative */
  readonly right: Int32Array;
  /** the test of each node (TreeTest); absent: value <= threshold */
  readonly test?: Int32Array | undefined;
  /** what each node does with a missing value (TreeMissing); absent: it goes right */
  readonly missing?: Int32Array | undefined;
  /** the root of each tree: a node, or ~leaf */
  readonly roots: Int32Array;
  /** width numbers for each leaf */
  readonly leaves: Float64Array;
  /** the count of numbers of one leaf */
  readonly width: number;
  /** where each set of categories starts in set_members, and the end of the last */
  readonly set_offsets?: Int32Array | undefined;
  /** the category numbers of all sets */
  readonly set_members?: Int32Array | undefined;
  /** a factor for each tree; absent: 1 */
  readonly weights?: Float64Array | undefined;
  /** adds the trees' values, averages them, or lists them tree after tree */
  readonly sum: ForestSum;
  /** width numbers, the start of the sums */
  readonly base?: Float64Array | undefined;
  /** 1 for each feature that is rounded to float first; a single entry applies to all */
  readonly round_to_float?: Int32Array | undefined;
  /** NaN is the largest number and not a missing value */
  readonly nan_is_largest?: boolean | undefined;
  /** keeps sums in float, as XGBoost does */
  readonly float_sums?: boolean | undefined;
  /** skips a tree without a result; otherwise the row is missing */
  readonly skip_no_answer?: boolean | undefined;
  /** the input is one Vector, not a scalar for each feature */
  readonly vector?: boolean | undefined;
  /** the required length of the Vector; -1: any length that has all features */
  readonly vector_size?: number | undefined;
  /** the first output is the sums */
  readonly has_values?: boolean | undefined;
  /** the last output is the leaf of each tree */
  readonly has_leaf?: boolean | undefined;
  /** only explanations read the trees: the stage runs for requests that need its outputs */
  readonly explained?: boolean | undefined;
  /** pairs of a text feature and its count of categories */
  readonly category_counts?: Int32Array | undefined;
  /** the categories of all text features, in order */
  readonly categories?: readonly string[] | undefined;
}

/** Computes Shapley values of forests, from the covers of their leaves (native/tabular/forest/shap.h) or the plan's background rows (interventional.h). The outputs are the values and the expected value. */
export interface ForestShapAttributes {
  /** a column that each forest fills */
  readonly forests: Int32Array;
  /** the score to which the first number of each forest's leaves belongs */
  readonly scores: Int32Array;
  /** the count of scores */
  readonly score_count: number;
  /** the count of features in the output */
  readonly feature_count: number;
  /** for each feature of each forest: its player */
  readonly players: Int32Array;
  /** where each player's features start in share_features, and the end of the last; absent: a player is a feature */
  readonly share_offsets?: Int32Array | undefined;
  /** the features among which a player's value is divided evenly */
  readonly share_features?: Int32Array | undefined;
  /** for each leaf of each forest: the weight of the training rows that reached it */
  readonly covers?: Float64Array | undefined;
  /** why there are no covers: without background rows, requests are rejected with it */
  readonly uncovered?: string | undefined;
  /** why there are no values: requests are rejected with it */
  readonly lacks?: string | undefined;
  /** a factor for all values */
  readonly scale?: Real | undefined;
  /** a number for each score, which is added to the expected value */
  readonly bias?: Float64Array | undefined;
}

/** Lists the leaf of each tree of forests, or its values. */
export interface ForestTreesAttributes {
  /** a column that each forest fills */
  readonly forests: Int32Array;
  /** for each tree of each forest: its place in the output */
  readonly order: Int32Array;
  /** for each leaf of each forest: its number in the output; absent: its number in the forest */
  readonly leaf_ids?: Int32Array | undefined;
  /** the output is the trees' values; otherwise their leaves */
  readonly values?: boolean | undefined;
  /** a factor for all values */
  readonly scale?: Real | undefined;
}

/** Computes Shapley values of linear models: coefficients times differences to the means of the plan's background rows. The outputs are the values and the expected value. */
export interface LinearShapAttributes {
  /** for each score: one for each feature */
  readonly coefficients: Float64Array;
  /** one for each score */
  readonly intercepts: Float64Array;
  /** the input is one Vector, not a scalar for each feature; missing scalars are 0 */
  readonly vector?: boolean | undefined;
  /** the mean of each feature, if there are no background rows */
  readonly means?: Float64Array | undefined;
  /** why there are no means: without background rows, requests are rejected with it */
  readonly unmeant?: string | undefined;
}

/** Adds up the explanations of a model's parts: lists of numbers, each times a weight. Only requests that need the sum run it. */
export interface ExplainedSumAttributes {
  /** one for each input */
  readonly weights: Float64Array;
  /** the count of numbers of each input */
  readonly counts: Int32Array;
  /** for each number of the inputs: where it is added in the output */
  readonly places: Int32Array;
  /** the count of numbers of the output */
  readonly size: number;
  /** added to the sums */
  readonly base?: Float64Array | undefined;
}

/** Maps a label to its index. */
export interface StringIndexerAttributes {
  /** the labels in the order of their indices */
  readonly labels: readonly string[];
  /** unseen and missing labels get the index after the last; otherwise they are rejected */
  readonly keep?: boolean | undefined;
  /** if all values of the column are missing, all results are missing */
  readonly absent?: boolean | undefined;
}

/** Maps an index to its label. */
export interface IndexToStringAttributes {
  /** the labels in the order of their indices */
  readonly labels: readonly string[];
}

/** Maps a text to a number by a table. */
export interface StringMapAttributes {
  /** the texts */
  readonly labels: readonly string[];
  /** the number of each text */
  readonly values: Float64Array;
  /** the number of other texts; absent: they are rejected */
  readonly fallback?: Real | undefined;
}

/** Maps a text to the index of the first regular expression that it contains. */
export interface RegexIndexerAttributes {
  /** Java regular expressions */
  readonly regexes: readonly string[];
  /** the index of each expression */
  readonly indices: Int32Array;
  /** the index of other texts; absent: they are rejected */
  readonly fallback?: number | undefined;
}

/** Maps a number to a number by a table. */
export interface NumberMapAttributes {
  /** the numbers that the table knows */
  readonly keys: Float64Array;
  /** the number of each key */
  readonly values: Float64Array;
  /** the number of a missing value; absent: it is rejected */
  readonly missing?: Real | undefined;
  /** the number of a value without a key; absent: it is rejected */
  readonly other?: Real | undefined;
}

/** Maps a number to the bucket that it is in. */
export interface BucketizerAttributes {
  /** the buckets' bounds, ascending */
  readonly splits: Float64Array;
  /** NaN gets a bucket after the last */
  readonly keep?: boolean | undefined;
  /** a missing value is rejected; otherwise it stays missing */
  readonly skip?: boolean | undefined;
}

/** Maps numbers above a threshold to 1, others to 0. */
export interface BinarizerAttributes {
  /** the threshold */
  readonly threshold: Real;
  /** the result of a missing number is 0; otherwise it is rejected */
  readonly missingIsZero?: boolean | undefined;
}

/** Replaces missing numbers. */
export interface ImputerAttributes {
  /** the number that replaces them, cast to the column's type */
  readonly surrogate: Real;
  /** a number that also counts as missing */
  readonly missingValue: Real;
}

/** Returns the first input that is not missing. */
export type CoalesceAttributes = Empty;

/** Applies a function to a number. */
export interface MathUnaryAttributes {
  /** the function */
  readonly operation: MathUnary;
}

/** Applies an operation to two numbers. */
export interface MathBinaryAttributes {
  /** the operation */
  readonly operation: MathBinary;
  /** the first operand is an input */
  readonly hasA?: boolean | undefined;
  /** the second operand is an input */
  readonly hasB?: boolean | undefined;
  /** replaces the first operand if it is missing or not an input */
  readonly da?: Real | undefined;
  /** replaces the second operand if it is missing or not an input */
  readonly db?: Real | undefined;
}

/** Maps an index to a Vector with a 1 at that index. */
export interface OneHotAttributes {
  /** the count of categories */
  readonly size: number;
  /** rejects other indices, gives them an additional category, or maps them to zeros */
  readonly invalid: OneHotInvalid;
  /** leaves out the last category */
  readonly dropLast?: boolean | undefined;
}

/** Concatenates numbers and Vectors to one Vector. */
export interface VectorAssemblerAttributes {
  /** the count of values of each input; 0: unknown */
  readonly sizes?: Int32Array | undefined;
  /** rejects missing values and NaN, keeps both, or rejects missing values only */
  readonly invalid: AssemblerInvalid;
}

/** Selects values of a Vector. */
export interface VectorSlicerAttributes {
  /** the indices of the values */
  readonly indices: Int32Array;
}

/** Selects one value of a Vector. */
export interface VectorElementAttributes {
  /** the index of the value */
  readonly index: number;
}

/** Checks the length of a Vector. */
export interface VectorSizeHintAttributes {
  /** the length */
  readonly size: number;
  /** rejects other lengths and missing values */
  readonly check?: boolean | undefined;
}

/** Replaces categorical values of a Vector by their indices. */
export interface VectorIndexerAttributes {
  /** the Vector's length */
  readonly size: number;
  /** an unseen value gets the index after the last; otherwise it is rejected */
  readonly keep?: boolean | undefined;
  /** the categorical features */
  readonly features: Int32Array;
  /** the count of categories of each categorical feature */
  readonly counts: Int32Array;
  /** the categories of all categorical features */
  readonly values: Float64Array;
  /** the index of each category */
  readonly indices: Int32Array;
}

/** Computes the products of all combinations of one value per input. */
export interface InteractionAttributes {
  /** the count of values of each input; 0: unknown */
  readonly counts: Int32Array;
  /** the count of categories of each value of each input; 1: the value is a number */
  readonly features: Int32Array;
}

/** Expands a Vector to the products of its values. */
export interface PolynomialExpansionAttributes {
  /** the maximum count of factors */
  readonly degree: number;
}

/** Multiplies powers of a Vector's values. */
export interface FeatureProductsAttributes {
  /** the count of factors of each product */
  readonly counts: Int32Array;
  /** the value of each factor */
  readonly indices: Int32Array;
  /** the exponent of each factor */
  readonly powers: Int32Array;
}

/** Applies the discrete cosine transform to a Vector. */
export interface DctAttributes {
  /** applies the inverse */
  readonly inverse?: boolean | undefined;
}

/** Projects a Vector onto principal components. */
export interface PcaAttributes {
  /** the components, one after the other */
  readonly components: Float64Array;
  /** the count of components */
  readonly k: number;
}

/** Hashes a Vector by random projections. */
export interface RandomProjectionLshAttributes {
  /** the projections, one after the other */
  readonly vectors: Float64Array;
  /** the count of projections */
  readonly tables: number;
  /** the length of a bucket */
  readonly bucketLength: Real;
  /** divides by the length; otherwise multiplies by its inverse */
  readonly divide?: boolean | undefined;
}

/** Hashes the set of a Vector's non-zero indices. */
export interface MinHashLshAttributes {
  /** the factor of each hash function */
  readonly a: Int32Array;
  /** the summand of each hash function */
  readonly b: Int32Array;
}

/** Computes (x - shift) * scale for each value of a Vector. */
export interface ScaleAttributes {
  /** absent: 0 */
  readonly shift?: Float64Array | undefined;
  /** absent: 1 */
  readonly scale?: Float64Array | undefined;
  /** limits results to [-1, 1] */
  readonly clamp?: boolean | undefined;
}

/** Scales each value of a Vector to a range. */
export interface MinMaxScalerAttributes {
  /** the minimum of each feature in training */
  readonly low: Float64Array;
  /** the factor of each feature; 0: the feature did not vary */
  readonly scale: Float64Array;
  /** the range's lower bound */
  readonly min: Real;
  /** the range's upper bound */
  readonly max: Real;
}

/** Scales a Vector to length 1. */
export interface NormalizerAttributes {
  /** the norm, 1 or more, or infinity */
  readonly p: Real;
}

/** Converts a text to lower case and splits it at white space. */
export type TokenizerAttributes = Empty;

/** Splits a text by a regular expression. */
export interface RegexTokenizerAttributes {
  /** a Java regular expression */
  readonly pattern: string;
  /** the expression matches the gaps between the tokens, not the tokens */
  readonly gaps?: boolean | undefined;
  /** the minimum length of a token in UTF-16 units */
  readonly minTokenLength: number;
  /** converts the text to lower case first */
  readonly toLowercase?: boolean | undefined;
}

/** Removes words from a list. */
export interface StopWordsAttributes {
  /** the words */
  readonly stopWords: readonly string[];
  /** the comparison is case-sensitive */
  readonly caseSensitive?: boolean | undefined;
}

/** Joins consecutive words. */
export interface NgramAttributes {
  /** the count of words that are joined */
  readonly n: number;
}

/** Keeps words that have only letters and are long enough. */
export interface WordFilterAttributes {
  /** words must be longer than this, in UTF-16 units */
  readonly length: number;
}

/** Counts words in buckets by hash. */
export interface HashingTfAttributes {
  /** the Vector's length */
  readonly size: number;
  /** the value of each word is 1, not its count */
  readonly binary?: boolean | undefined;
  /** 1 or 2: the hash of Spark before or since 3.0 */
  readonly hashVersion: number;
}

/** Counts words of a vocabulary. */
export interface CountVectorizerAttributes {
  /** the words in the order of their indices */
  readonly vocabulary: readonly string[];
  /** the value of each word is 1, not its count */
  readonly binary?: boolean | undefined;
  /** the minimum count of a word; below 1: the minimum share of all words */
  readonly minTf: Real;
}

/** Averages the vectors of words. */
export interface Word2vecAttributes {
  /** the words */
  readonly words: readonly string[];
  /** `size` numbers for each word */
  readonly vectors: Float64Array;
  /** the length of a word's vector */
  readonly size: number;
  /** divides the sum by the count of words, or scales it to length 1 */
  readonly kernel?: Word2vecKernel | undefined;
}

/** Hashes the names and values of columns into a Vector. */
export interface FeatureHasherAttributes {
  /** the Vector's length */
  readonly size: number;
  /** 1 or 2: the hash of Spark before or since 3.0 */
  readonly hashVersion: number;
  /** 1 for each input whose numbers are categories */
  readonly categorical: Int32Array;
  /** the inputs' names in training */
  readonly names: readonly string[];
}

/** Turns scores of classes into probabilities and the predicted class. */
export interface ClassifyAttributes {
  /** how scores become probabilities */
  readonly link: ScoreLink;
  /** the meaning of each output */
  readonly roles: readonly ProbabilityRole[];
  /** one for each class; the class with the largest probability / threshold is predicted */
  readonly thresholds?: Float64Array | undefined;
  /** a probability divided by a threshold of 0 is infinity, as in MLeap */
  readonly zeroInfinity?: boolean | undefined;
  /** binary models: class 1 is predicted if its score is greater */
  readonly rawThreshold?: Real | undefined;
  /** binary models: class 1 is predicted if its probability is greater */
  readonly probabilityThreshold?: Real | undefined;
}

/** Collects the scores of binary models. */
export type OneVsRestAttributes = Empty;

/** Finds the largest value of a Vector; among equal ones, the first. */
export interface GreatestAttributes {
  /** the meaning of each output */
  readonly roles: readonly GreatestRole[];
}

/** Lists the labels whose probability reaches a threshold. */
export interface MultinomialLabelerAttributes {
  /** the labels */
  readonly names: readonly string[];
  /** the threshold */
  readonly threshold: Real;
  /** the meaning of each output */
  readonly roles: readonly LabelerRole[];
}

/** Computes coefficients * x + intercepts. */
export interface LinearScoresAttributes {
  /** [classes, features] */
  readonly coefficients: Float64Array;
  /** one for each class */
  readonly intercepts: Float64Array;
  /** a single score becomes the scores (-score, score) */
  readonly mirror?: boolean | undefined;
  /** the restriction on features */
  readonly rule?: FeatureRule | undefined;
  /** subtracts the scores' log-sum-exp, as complement naive Bayes does */
  readonly minusLogSumExp?: boolean | undefined;
}

/** Computes coefficients * x + intercept. */
export interface LinearRegressionAttributes {
  /** one for each feature */
  readonly coefficients: Float64Array;
  /** the intercept */
  readonly intercept: Real;
}

/** Evaluates a generalized linear regression. */
export interface GlmAttributes {
  /** one for each feature */
  readonly coefficients: Float64Array;
  /** the intercept */
  readonly intercept: Real;
  /** the distribution of the target */
  readonly family: GlmFamily;
  /** the link function */
  readonly link: GlmLink;
  /** the exponent of the power link; 0: log */
  readonly linkPower?: Real | undefined;
  /** the meaning of each output */
  readonly roles: readonly GlmRole[];
}

/** Evaluates an accelerated failure time regression. */
export interface AftAttributes {
  /** one for each feature */
  readonly coefficients: Float64Array;
  /** the intercept */
  readonly intercept: Real;
  /** the scale of the Weibull distribution */
  readonly scale: Real;
  /** the probabilities of the quantiles */
  readonly probabilities: Float64Array;
  /** the meaning of each output */
  readonly roles: readonly AftRole[];
}

/** Interpolates between points. */
export interface IsotonicAttributes {
  /** the points' features, ascending */
  readonly boundaries: Float64Array;
  /** the points' predictions */
  readonly predictions: Float64Array;
  /** the feature of a Vector */
  readonly index?: number | undefined;
}

/** Evaluates a factorization machine. */
export interface FactorizationMachineAttributes {
  /** the intercept */
  readonly intercept: Real;
  /** one for each feature */
  readonly linear: Float64Array;
  /** [features, size] */
  readonly factors: Float64Array;
  /** the count of factors of each feature */
  readonly size: number;
  /** the result is the scores (-score, score) */
  readonly mirror?: boolean | undefined;
}

/** Computes the scores of Gaussian naive Bayes. */
export interface GaussianBayesAttributes {
  /** the logarithms of the classes' priors */
  readonly pi: Float64Array;
  /** means, [classes, features] */
  readonly theta: Float64Array;
  /** variances, [classes, features] */
  readonly sigma: Float64Array;
}

/** Evaluates a multilayer perceptron, whose last layer is linear. */
export interface PerceptronAttributes {
  /** the width of each layer */
  readonly layers: Int32Array;
  /** for each layer: the matrix [out, in] in column-major order, then the biases */
  readonly weights: Float64Array;
  /** the function of the other layers */
  readonly hidden?: HiddenFunction | undefined;
}

/** Compares a Vector with support vectors. */
export interface KernelValuesAttributes {
  /** the kernel */
  readonly kernel: SvmKernel;
  /** the kernel's gamma */
  readonly gamma?: Real | undefined;
  /** the kernel's coef0 */
  readonly coef0?: Real | undefined;
  /** the kernel's degree */
  readonly degree?: Real | undefined;
  /** [vectors, features] */
  readonly vectors: Float64Array;
  /** the count of vectors */
  readonly count: number;
}

/** Estimates the probabilities of classes from the decision values of their pairs, in the order (0, 1), (0, 2), ..., (1, 2), ..., as libsvm does: the first class of a pair has the probability 1 / (1 + exp(slope * value + offset)). */
export interface PairwiseCouplingAttributes {
  /** the count of classes */
  readonly classes: number;
  /** one for each pair */
  readonly slopes: Float64Array;
  /** one for each pair */
  readonly offsets: Float64Array;
}

/** Averages the values of the nearest training rows; among equally near rows, the first are taken. */
export interface NearestRowsAttributes {
  /** the distance */
  readonly metric: NeighborMetric;
  /** the exponent of minkowski */
  readonly p?: Real | undefined;
  /** [rows, features] */
  readonly rows: Float64Array;
  /** [rows, width] */
  readonly values: Float64Array;
  /** the count of rows */
  readonly count: number;
  /** the count of rows that are averaged */
  readonly neighbors: number;
  /** the weight of a row is 1 / its distance; rows at distance 0 have all the weight */
  readonly by_distance?: boolean | undefined;
}

/** Finds the nearest center. */
export interface KMeansAttributes {
  /** [points, features] */
  readonly centers: Float64Array;
  /** the distance measure */
  readonly distance: Distance;
  /** the count of centers */
  readonly k: number;
}

/** Descends a tree of clusters to a leaf; its nodes are the centers. */
export interface BisectingKMeansAttributes {
  /** [points, features] */
  readonly centers: Float64Array;
  /** the distance measure */
  readonly distance: Distance;
  /** the first child of each node */
  readonly firsts: Int32Array;
  /** the count of children of each node */
  readonly counts: Int32Array;
  /** the cluster number of each node that is a leaf */
  readonly indices: Int32Array;
}

/** Computes the probabilities of a mixture of normal distributions. */
export interface GaussianMixtureAttributes {
  /** the weight of each distribution */
  readonly weights: Float64Array;
  /** [k, features] */
  readonly means: Float64Array;
  /** [k, features, features]: the matrices of the log densities */
  readonly roots: Float64Array;
  /** the constants of the log densities */
  readonly constants: Float64Array;
  /** the meaning of each output */
  readonly roles: readonly ProbabilityRole[];
}

/** Multiplies the factors of a user and an item. */
export interface AlsAttributes {
  /** the count of factors */
  readonly rank: number;
  /** the users */
  readonly userIds: Int32Array;
  /** [users, rank] */
  readonly userFactors: Float64Array;
  /** the items */
  readonly itemIds: Int32Array;
  /** [items, rank] */
  readonly itemFactors: Float64Array;
  /** an unknown id is rejected; otherwise the result is NaN */
  readonly drop?: boolean | undefined;
}

/** Lists the consequents of the association rules that apply to a list of items. */
export interface FpGrowthAttributes {
  /** the items of all rules' antecedents */
  readonly antecedents: readonly string[];
  /** the count of items of each rule's antecedent */
  readonly counts: Int32Array;
  /** the consequent of each rule */
  readonly consequents: readonly string[];
}

/** Computes the distribution of topics of word counts. */
export interface LdaAttributes {
  /** the start values, one for each topic */
  readonly start: Float64Array;
  /** the prior, one for each topic */
  readonly concentration: Float64Array;
  /** [vocabulary, topics]: the likelihoods of words */
  readonly words: Float64Array;
}

/** Treats missing, invalid and extreme values of a field according to its MiningField. */
export interface PmmlFieldAttributes {
  /** the field's name, for errors */
  readonly field: string;
  /** the valid values */
  readonly valid?: Values | undefined;
  /** the invalid values */
  readonly invalid_values?: Values | undefined;
  /** values that count as missing */
  readonly missing_values?: Values | undefined;
  /** the valid intervals: left, right, 1 if left is included, 1 if right is included */
  readonly intervals?: Float64Array | undefined;
  /** the replacement of a missing value (one value) */
  readonly missing_value?: Values | undefined;
  /** the replacement of an invalid value (one value) */
  readonly invalid_value?: Values | undefined;
  /** rejects missing values */
  readonly refuse_missing?: boolean | undefined;
  /** the treatment of invalid values */
  readonly invalid?: InvalidValues | undefined;
  /** the treatment of extreme values */
  readonly outliers?: Outliers | undefined;
  /** values below are extreme */
  readonly low?: Real | undefined;
  /** values above are extreme */
  readonly high?: Real | undefined;
}

/** Interpolates a number between points. */
export interface PmmlNormContinuousAttributes {
  /** the result for a missing input (one value) */
  readonly map_missing?: Values | undefined;
  /** the points' inputs, ascending */
  readonly orig: Float64Array;
  /** the points' outputs */
  readonly norm: Float64Array;
  /** the treatment of numbers outside of the points */
  readonly outliers?: Outliers | undefined;
}

/** Returns 1 if the input has a certain value, else 0. */
export interface PmmlNormDiscreteAttributes {
  /** the result for a missing input (one value) */
  readonly map_missing?: Values | undefined;
  /** the value (one) */
  readonly value: Values;
}

/** Maps a number to the result of the interval that contains it. */
export interface PmmlDiscretizeAttributes {
  /** the result for a missing input (one value) */
  readonly map_missing?: Values | undefined;
  /** for each interval: left, right, 1 if left is included, 1 if right is included */
  readonly intervals: Float64Array;
  /** the result of each interval */
  readonly results: Values;
  /** the result for a number outside of all intervals (one value) */
  readonly otherwise?: Values | undefined;
}

/** Looks the inputs up in the rows of a table. */
export interface PmmlMapValuesAttributes {
  /** the result for a missing input (one value) */
  readonly map_missing?: Values | undefined;
  /** the table's columns one after the other: the values of one input in all rows */
  readonly keys: Values;
  /** the result of each row */
  readonly results: Values;
  /** the result for inputs that no row has (one value) */
  readonly otherwise?: Values | undefined;
}

/** Computes a weight from the count of a term in a text. */
export interface PmmlTextIndexAttributes {
  /** how a count becomes a weight */
  readonly weights: TermWeights;
  /** counts only the matches with the smallest distance */
  readonly best_hits?: boolean | undefined;
  /** the comparison is case-sensitive */
  readonly case_sensitive?: boolean | undefined;
  /** removes punctuation around words */
  readonly tokenize?: boolean | undefined;
  /** the maximum Levenshtein distance of a match */
  readonly distance: number;
  /** a regular expression that matches words; empty: the separator is used */
  readonly word?: string | undefined;
  /** a regular expression that matches the gaps between words */
  readonly separator: string;
  /** regular expressions of all normalization tables */
  readonly rule_patterns?: readonly string[] | undefined;
  /** the replacement of each pattern */
  readonly rule_replacements?: readonly string[] | undefined;
  /** where each table starts in rule_patterns, and the end of the last */
  readonly rule_rows?: Int32Array | undefined;
  /** 1 for each table that is applied until the text no longer changes */
  readonly rule_recursive?: Int32Array | undefined;
}

/** Aggregates the values of a list. */
export interface PmmlAggregateAttributes {
  /** the aggregate */
  readonly function: AggregateFunction;
}

/** Concatenates numbers to a Vector. */
export type PmmlVectorAttributes = Empty;

/** Returns the label of a Vector's largest number. */
export interface PmmlClassifyAttributes {
  /** the label of each number */
  readonly labels: Values;
}

/** Selects numbers of a Vector, or the number of the label that a second input has. */
export interface PmmlPickAttributes {
  /** the number's index for each output; -1: zero */
  readonly index?: Int32Array | undefined;
  /** the label of each number */
  readonly labels?: Values | undefined;
}

/** Returns the label or number of a given rank in a Vector. */
export interface PmmlRankedAttributes {
  /** the label of each number */
  readonly labels?: readonly string[] | undefined;
  /** 1 or more */
  readonly rank: number;
  /** rank 1 is the largest number, not the smallest */
  readonly largest?: boolean | undefined;
}

/** Returns the element of a given rank in a list. */
export interface PmmlElementAttributes {
  /** 1 or more */
  readonly rank: number;
}

/** Descends a decision tree. */
export interface PmmlTreeAttributes {
  /** the first child of each node; -1: a leaf */
  readonly first_child: Int32Array;
  /** the next sibling of each node; -1: none */
  readonly next_sibling: Int32Array;
  /** the input that each node's predicate reads */
  readonly input: Int32Array;
  /** the predicate of each node (ts/importers/pmml/tree/nodes.ts) */
  readonly test: Int32Array;
  /** the number that each node compares with, or the index of its text, set or expression */
  readonly number: Float64Array;
  /** 1 for each node with a score */
  readonly scored: Int32Array;
  /** texts of predicates */
  readonly texts?: readonly string[] | undefined;
  /** where each set of texts starts in set_texts, and the end of the last */
  readonly text_offsets?: Int32Array | undefined;
  /** the texts of all sets */
  readonly set_texts?: readonly string[] | undefined;
  /** where each set of numbers starts in set_reals, and the end of the last */
  readonly real_offsets?: Int32Array | undefined;
  /** the numbers of all sets */
  readonly set_reals?: Float64Array | undefined;
  /** predicates that are expressions */
  readonly expressions?: Expressions | undefined;
  /** where each surrogate's predicates start in expressions, and the end */
  readonly surrogate_offsets?: Int32Array | undefined;
  /** the child of each node if its predicates are unknown */
  readonly default_child?: Int32Array | undefined;
  /** the missingValueStrategy */
  readonly on_missing?: TreeMissing | undefined;
  /** the result is that of the last node if no child's predicate is true */
  readonly no_child_last?: boolean | undefined;
  /** 1 for each node that has a result; absent: all have one */
  readonly answers?: Int32Array | undefined;
  /** the record count of each node */
  readonly counts?: Float64Array | undefined;
  /** [nodes, width]: the labels' confidences */
  readonly scores?: Float64Array | undefined;
  /** [nodes, width]: the values that are added if a row reaches several leaves */
  readonly blended?: Float64Array | undefined;
  /** [nodes, width]: the confidences that are added in that case */
  readonly blended_scores?: Float64Array | undefined;
  /** the count of labels */
  readonly width?: number | undefined;
  /** the factor of confidences for each missing value on the path */
  readonly penalty?: Real | undefined;
}

/** Runs a block on the rows for which a predicate is true. */
export interface PmmlSegmentAttributes {
  /** the predicate (one) */
  readonly predicate: Expressions;
  /** the block (one) */
  readonly block: Blocks;
}

/** Returns the column of the first segment that ran. */
export interface PmmlChooseAttributes {
  /** returns the column of the last segment that ran */
  readonly last?: boolean | undefined;
  /** rejects a row for which several segments ran */
  readonly only?: boolean | undefined;
  /** the input that is each segment's column; -1: the row is missing */
  readonly column_of: Int32Array;
  /** [segments, width]: the index of each label's number in a segment's Vector; -1: zero */
  readonly maps?: Int32Array | undefined;
  /** the count of labels */
  readonly width?: number | undefined;
  /** for each segment, the reason why a row with its result is rejected; empty: it is not rejected */
  readonly refused: readonly string[];
}

/** Combines the numbers that segments predict. */
export interface PmmlCombineAttributes {
  /** how results are combined */
  readonly method: CombineMethod;
  /** the weight of each segment */
  readonly weights: Float64Array;
  /** the input that says whether each segment ran; -1: it always does */
  readonly mask_of: Int32Array;
  /** the input that is each segment's weight; -1: none */
  readonly weight_of: Int32Array;
  /** the missingPredictionTreatment */
  readonly on_missing?: SegmentMissing | undefined;
  /** the share of missing predictions above which the result is missing */
  readonly threshold?: Real | undefined;
  /** computes in float */
  readonly single?: boolean | undefined;
}

/** Counts the segments' votes for labels. */
export interface PmmlVoteAttributes {
  /** how results are combined */
  readonly method: CombineMethod;
  /** the weight of each segment */
  readonly weights: Float64Array;
  /** the input that says whether each segment ran; -1: it always does */
  readonly mask_of: Int32Array;
  /** the input that is each segment's weight; -1: none */
  readonly weight_of: Int32Array;
  /** the missingPredictionTreatment */
  readonly on_missing?: SegmentMissing | undefined;
  /** the share of missing predictions above which the result is missing */
  readonly threshold?: Real | undefined;
  /** the labels */
  readonly labels: Values;
}

/** Combines the probabilities of segments. */
export interface PmmlBlendAttributes {
  /** how results are combined */
  readonly method: CombineMethod;
  /** the weight of each segment */
  readonly weights: Float64Array;
  /** the input that says whether each segment ran; -1: it always does */
  readonly mask_of: Int32Array;
  /** the input that is each segment's weight; -1: none */
  readonly weight_of: Int32Array;
  /** the missingPredictionTreatment */
  readonly on_missing?: SegmentMissing | undefined;
  /** the share of missing predictions above which the result is missing */
  readonly threshold?: Real | undefined;
  /** [segments, width]: the index of each label's number in a segment's Vector; -1: zero */
  readonly maps: Int32Array;
  /** the order of the labels in which the first of equal ones wins; empty: their own order */
  readonly order: Int32Array;
  /** the count of labels */
  readonly width: number;
}

/** Counts the votes of a forest's leaves for labels. */
export interface PmmlLeafVotesAttributes {
  /** the label of each leaf */
  readonly label_of: Int32Array;
  /** the weight of each tree */
  readonly weights: Float64Array;
  /** the labels */
  readonly labels: Values;
}

/** Lists the results of the segments that ran. */
export type PmmlCollectAttributes = Empty;

/** Evaluates a RuleSet. */
export interface PmmlRulesAttributes {
  /** the condition of each rule */
  readonly predicates: Expressions;
  /** the label of each rule */
  readonly label_of: Int32Array;
  /** the weight of each rule */
  readonly weights: Float64Array;
  /** the confidence of each rule */
  readonly confidences: Float64Array;
  /** the id of each rule */
  readonly ids: readonly string[];
  /** the scores */
  readonly labels: Values;
  /** the label if no rule is true; -1: missing */
  readonly default_label?: number | undefined;
  /** the confidence of the default label */
  readonly default_confidence?: Real | undefined;
  /** how the result follows from the rules that are true */
  readonly method: RulesMethod;
}

/** Adds up partial scores. */
export interface PmmlScorecardAttributes {
  /** where each characteristic starts in predicates, and the end of the last */
  readonly offsets: Int32Array;
  /** the condition of each attribute */
  readonly predicates: Expressions;
  /** the partial score of each attribute */
  readonly partial: Float64Array;
  /** the expression that is each attribute's partial score; -1: none */
  readonly complex_of: Int32Array;
  /** partial scores that are expressions */
  readonly complex?: Expressions | undefined;
  /** the reason code of each attribute */
  readonly reasons?: readonly string[] | undefined;
  /** the baseline score of each characteristic */
  readonly baselines?: Float64Array | undefined;
  /** the initial score */
  readonly initial?: Real | undefined;
  /** reason codes rank points above the baseline, not below */
  readonly points_above?: boolean | undefined;
}

/** Computes an anomaly score. */
export interface PmmlAnomalyAttributes {
  /** the algorithm */
  readonly algorithm: AnomalyAlgorithm;
  /** iforest: the count of instances of a tree's sample */
  readonly sample_size?: Real | undefined;
  /** clusterMeanDist: the mean distance in each cluster */
  readonly means?: Float64Array | undefined;
}

/** Finds the association rules that apply to a row. */
export interface PmmlAssociationAttributes {
  /** the one input is a list of items; otherwise each input is a value */
  readonly list?: boolean | undefined;
  /** which rules each output lists */
  readonly algorithms: readonly AssociationAlgorithm[];
  /** the count of items */
  readonly items: number;
  /** the item of each pair of an input and a value; -1: a known value that is not an item */
  readonly pair_items: Int32Array;
  /** the input of each pair */
  readonly pair_inputs: Int32Array;
  /** the value of each pair */
  readonly pair_values: Values;
  /** inputs whose values must be in a pair */
  readonly flag_inputs: Int32Array;
  /** rows of set_items */
  readonly set_rows: Int32Array;
  /** the items of all itemsets */
  readonly set_items: Int32Array;
  /** the itemset of each rule's antecedent */
  readonly antecedents: Int32Array;
  /** the itemset of each rule's consequent */
  readonly consequents: Int32Array;
}

/** Returns a property of the association rules of a row. */
export interface PmmlRuleValueAttributes {
  /** lists the property of all rules */
  readonly many?: boolean | undefined;
  /** the property of each rule if it is a number */
  readonly numbers?: Float64Array | undefined;
  /** the property of each rule if it is a text or a list of texts */
  readonly texts?: readonly string[] | undefined;
  /** rows of texts if it is a list */
  readonly text_rows?: Int32Array | undefined;
  /** the rank of the rule; with many, the count of rules, 0: all */
  readonly rank: number;
  /** the key by which rules are ranked */
  readonly keys: Float64Array;
  /** rank 1 is the largest key */
  readonly descending?: boolean | undefined;
}

/** Finds the nearest cluster. */
export interface PmmlClusteringAttributes {
  /** the distance or similarity */
  readonly measure: Measure;
  /** minkowski's exponent */
  readonly minkowski_p?: Real | undefined;
  /** c11 c10 c01 c00 d11 d10 d01 d00 of binarySimilarity */
  readonly binary_parameters?: Float64Array | undefined;
  /** the compareFunction of each field */
  readonly compare: readonly CompareFunction[];
  /** the weight of each field */
  readonly field_weights: Float64Array;
  /** the similarityScale of each field */
  readonly similarity_scales: Float64Array;
  /** the weight of each field in the adjustment for missing values */
  readonly missing_weights: Float64Array;
  /** the id of each cluster */
  readonly ids: readonly string[];
  /** the name of each cluster */
  readonly names?: readonly string[] | undefined;
  /** [clusters, fields] */
  readonly centers: Float64Array;
}

/** Evaluates a Gaussian process regression. */
export interface PmmlGaussianProcessAttributes {
  /** the kernel */
  readonly kernel: GaussianKernel;
  /** [instances, fields] */
  readonly instances: Float64Array;
  /** the target of each instance */
  readonly targets: Float64Array;
  /** one for each field */
  readonly lambdas: Float64Array;
  /** the kernel's gamma */
  readonly gamma: Real;
  /** the kernel's noise variance */
  readonly noise_variance: Real;
  /** the exponent of generalizedExponential */
  readonly degree?: Real | undefined;
}

/** Evaluates a GeneralRegressionModel. */
export interface PmmlGeneralRegressionAttributes {
  /** the modelType */
  readonly model: RegressionModel;
  /** the results are probabilities */
  readonly classification?: boolean | undefined;
  /** the link function */
  readonly link?: PmmlLink | undefined;
  /** the parameter of negbin, oddspower and power */
  readonly link_parameter?: Real | undefined;
  /** a constant that is added to the linear part */
  readonly offset_value?: Real | undefined;
  /** the input that a constant that is added to the linear part; -1: none */
  readonly offset_input?: number | undefined;
  /** the count of trials */
  readonly trials_value?: Real | undefined;
  /** the input that is the count of trials; -1: none */
  readonly trials_input?: number | undefined;
  /** rows of the factors of each design */
  readonly factor_rows: Int32Array;
  /** the input of each factor */
  readonly factor_inputs: Int32Array;
  /** the value of each factor */
  readonly factor_values: Values;
  /** the contrast of each factor; -1: none */
  readonly factor_contrasts: Int32Array;
  /** rows of contrast_values */
  readonly contrast_rows: Int32Array;
  /** the categories of each contrast */
  readonly contrast_values: Values;
  /** the number of each category */
  readonly contrast_numbers: Float64Array;
  /** rows of the covariates of each design */
  readonly covariate_rows: Int32Array;
  /** the input of each covariate */
  readonly covariate_inputs: Int32Array;
  /** the exponent of each covariate */
  readonly covariate_exponents: Float64Array;
  /** rows of the terms of each equation */
  readonly equation_rows: Int32Array;
  /** the design of each term; -1: the parameter alone */
  readonly equation_designs: Int32Array;
  /** the parameter of each term */
  readonly equation_betas: Float64Array;
  /** cox: the linear part at the reference point */
  readonly reference?: Real | undefined;
  /** cox: the input that is the time */
  readonly time_input?: number | undefined;
  /** cox: the input that is the stratum; -1: none */
  readonly stratum_input?: number | undefined;
  /** cox: the stratum of each baseline */
  readonly baseline_strata?: Values | undefined;
  /** cox: rows of the cells of each baseline */
  readonly baseline_rows?: Int32Array | undefined;
  /** cox: the time of each cell */
  readonly baseline_times?: Float64Array | undefined;
  /** cox: the cumulative hazard of each cell */
  readonly baseline_hazards?: Float64Array | undefined;
  /** cox: the last time of each baseline */
  readonly baseline_max_times?: Float64Array | undefined;
}

/** Evaluates a NaiveBayesModel. */
export interface PmmlNaiveBayesAttributes {
  /** the probability of a pair that was never seen */
  readonly threshold: Real;
  /** the count of each label */
  readonly prior_counts: Float64Array;
  /** inputs that have a distribution for each label */
  readonly continuous: Int32Array;
  /** the kind of each distribution, [continuous, labels] */
  readonly distributions: Int32Array;
  /** the mean of each distribution */
  readonly means: Float64Array;
  /** the variance of each distribution */
  readonly variances: Float64Array;
  /** rows of the values of each input */
  readonly pair_rows: Int32Array;
  /** the values of all inputs */
  readonly pair_values: Values;
  /** [pairs, labels] */
  readonly pair_counts: Float64Array;
}

/** Finds the nearest training instances. */
export interface PmmlNearestNeighborAttributes {
  /** the distance or similarity */
  readonly measure: Measure;
  /** minkowski's exponent */
  readonly minkowski_p?: Real | undefined;
  /** c11 c10 c01 c00 d11 d10 d01 d00 of binarySimilarity */
  readonly binary_parameters?: Float64Array | undefined;
  /** the compareFunction of each field */
  readonly compare: readonly CompareFunction[];
  /** the weight of each field */
  readonly field_weights: Float64Array;
  /** the similarityScale of each field */
  readonly similarity_scales: Float64Array;
  /** the weight of each field in the adjustment for missing values */
  readonly missing_weights: Float64Array;
  /** [instances, fields]; for text fields, indices into categories */
  readonly instances: Float64Array;
  /** 1 for each field that is a text */
  readonly text_fields: Int32Array;
  /** the texts of all text fields */
  readonly categories: readonly string[];
  /** the count of neighbors that are combined */
  readonly neighbors: number;
  /** the minimum distance in weights */
  readonly threshold?: Real | undefined;
  /** how neighbors are combined, for each target */
  readonly target_scorings: readonly Scoring[];
  /** [targets, instances]; for categories, indices into the target's values */
  readonly target_numbers: Float64Array;
  /** the categories of all targets */
  readonly target_values: Values;
  /** rows of target_values */
  readonly target_value_rows: Int32Array;
  /** the count of neighbors that are listed */
  readonly ranked?: number | undefined;
  /** the id of each instance */
  readonly ids: readonly string[];
  /** the block (one) that computes the derived fields of the instances at load */
  readonly derive?: Blocks | undefined;
  /** the columns that the block reads */
  readonly given_columns?: Int32Array | undefined;
  /** [given columns, instances] */
  readonly given_values?: Values | undefined;
  /** the inputs that are derived fields */
  readonly derived_inputs?: Int32Array | undefined;
  /** the column of each derived field */
  readonly derived_columns?: Int32Array | undefined;
}

/** Evaluates a NeuralNetwork. */
export interface PmmlNeuralNetworkAttributes {
  /** the result is one Vector, not a number for each output */
  readonly classification?: boolean | undefined;
  /** rows of the neurons of each layer */
  readonly layer_rows: Int32Array;
  /** the activation function of each layer */
  readonly activations: readonly Activation[];
  /** the normalization of each layer */
  readonly normalizations: readonly LayerNormalization[];
  /** the threshold of each layer */
  readonly thresholds: Float64Array;
  /** the leakage of each layer's rectifier; absent: 0 */
  readonly leakages?: Float64Array | undefined;
  /** the bias of each neuron */
  readonly biases: Float64Array;
  /** the width of each neuron */
  readonly widths: Float64Array;
  /** the altitude of each neuron */
  readonly altitudes: Float64Array;
  /** rows of the connections of each neuron */
  readonly connection_rows: Int32Array;
  /** the source of each connection: inputs first, then neurons */
  readonly connection_sources: Int32Array;
  /** the weight of each connection */
  readonly connection_weights: Float64Array;
  /** the neuron of each output */
  readonly output_neurons: Int32Array;
  /** rows of the points by which each output is mapped back */
  readonly output_rows?: Int32Array | undefined;
  /** the points' normalized numbers */
  readonly output_norms?: Float64Array | undefined;
  /** the points' original numbers */
  readonly output_origs?: Float64Array | undefined;
}

/** Evaluates a RegressionModel. */
export interface PmmlRegressionAttributes {
  /** the results are probabilities */
  readonly classification?: boolean | undefined;
  /** the target is ordinal */
  readonly ordinal?: boolean | undefined;
  /** computes in float */
  readonly single?: boolean | undefined;
  /** the normalizationMethod */
  readonly normalization?: RegressionNormalization | undefined;
  /** the intercept of each table */
  readonly intercepts: Float64Array;
  /** rows of the numeric predictors of each table */
  readonly numeric_rows: Int32Array;
  /** the input of each numeric predictor */
  readonly numeric_inputs: Int32Array;
  /** the exponent of each numeric predictor */
  readonly numeric_exponents: Float64Array;
  /** the coefficient of each numeric predictor */
  readonly numeric_coefficients: Float64Array;
  /** rows of the categorical predictors of each table */
  readonly category_rows: Int32Array;
  /** the input of each categorical predictor */
  readonly category_inputs: Int32Array;
  /** the value of each categorical predictor */
  readonly category_values: Values;
  /** the coefficient of each categorical predictor */
  readonly category_coefficients: Float64Array;
  /** rows of the predictor terms of each table */
  readonly product_rows: Int32Array;
  /** the coefficient of each predictor term */
  readonly product_coefficients: Float64Array;
  /** rows of the inputs of each predictor term */
  readonly product_parts: Int32Array;
  /** the inputs of all predictor terms */
  readonly product_inputs: Int32Array;
}

/** Evaluates a SupportVectorMachineModel. */
export interface PmmlSupportVectorsAttributes {
  /** the kernel */
  readonly kernel: SvmKernel;
  /** the kernel's gamma */
  readonly gamma?: Real | undefined;
  /** the kernel's coef0 */
  readonly coef0?: Real | undefined;
  /** the kernel's degree */
  readonly degree?: Real | undefined;
  /** how machines are combined */
  readonly method: SvmMethod;
  /** the labels */
  readonly labels?: Values | undefined;
  /** binary models compare rounded numbers */
  readonly rounded?: boolean | undefined;
  /** the largest number wins, not the smallest */
  readonly max_wins?: boolean | undefined;
  /** the input of each dimension */
  readonly vector_inputs: Int32Array;
  /** the value of each dimension that is a category; missing: a number */
  readonly vector_values: Values;
  /** [vectors, dimensions] */
  readonly vectors: Float64Array;
  /** rows of the support vectors of each machine */
  readonly machine_rows: Int32Array;
  /** the vectors of all machines */
  readonly machine_vectors: Int32Array;
  /** the coefficient of each support vector */
  readonly machine_coefficients: Float64Array;
  /** the intercept of each machine */
  readonly machine_intercepts: Float64Array;
  /** the target label of each machine */
  readonly machine_targets?: Int32Array | undefined;
  /** the other label of each machine; -1: none */
  readonly machine_alternates?: Int32Array | undefined;
  /** the threshold of each machine */
  readonly machine_thresholds?: Float64Array | undefined;
}

export interface StageAttributes {
  readonly 'derive': DeriveAttributes;
  readonly 'pick': PickAttributes;
  readonly 'forest': ForestAttributes;
  readonly 'forest_shap': ForestShapAttributes;
  readonly 'forest_trees': ForestTreesAttributes;
  readonly 'linear_shap': LinearShapAttributes;
  readonly 'explained_sum': ExplainedSumAttributes;
  readonly 'string_indexer': StringIndexerAttributes;
  readonly 'index_to_string': IndexToStringAttributes;
  readonly 'string_map': StringMapAttributes;
  readonly 'regex_indexer': RegexIndexerAttributes;
  readonly 'number_map': NumberMapAttributes;
  readonly 'bucketizer': BucketizerAttributes;
  readonly 'binarizer': BinarizerAttributes;
  readonly 'imputer': ImputerAttributes;
  readonly 'coalesce': CoalesceAttributes;
  readonly 'math_unary': MathUnaryAttributes;
  readonly 'math_binary': MathBinaryAttributes;
  readonly 'one_hot': OneHotAttributes;
  readonly 'vector_assembler': VectorAssemblerAttributes;
  readonly 'vector_slicer': VectorSlicerAttributes;
  readonly 'vector_element': VectorElementAttributes;
  readonly 'vector_size_hint': VectorSizeHintAttributes;
  readonly 'vector_indexer': VectorIndexerAttributes;
  readonly 'interaction': InteractionAttributes;
  readonly 'polynomial_expansion': PolynomialExpansionAttributes;
  readonly 'feature_products': FeatureProductsAttributes;
  readonly 'dct': DctAttributes;
  readonly 'pca': PcaAttributes;
  readonly 'random_projection_lsh': RandomProjectionLshAttributes;
  readonly 'min_hash_lsh': MinHashLshAttributes;
  readonly 'scale': ScaleAttributes;
  readonly 'min_max_scaler': MinMaxScalerAttributes;
  readonly 'normalizer': NormalizerAttributes;
  readonly 'tokenizer': TokenizerAttributes;
  readonly 'regex_tokenizer': RegexTokenizerAttributes;
  readonly 'stop_words': StopWordsAttributes;
  readonly 'ngram': NgramAttributes;
  readonly 'word_filter': WordFilterAttributes;
  readonly 'hashing_tf': HashingTfAttributes;
  readonly 'count_vectorizer': CountVectorizerAttributes;
  readonly 'word2vec': Word2vecAttributes;
  readonly 'feature_hasher': FeatureHasherAttributes;
  readonly 'classify': ClassifyAttributes;
  readonly 'one_vs_rest': OneVsRestAttributes;
  readonly 'greatest': GreatestAttributes;
  readonly 'multinomial_labeler': MultinomialLabelerAttributes;
  readonly 'linear_scores': LinearScoresAttributes;
  readonly 'linear_regression': LinearRegressionAttributes;
  readonly 'glm': GlmAttributes;
  readonly 'aft': AftAttributes;
  readonly 'isotonic': IsotonicAttributes;
  readonly 'factorization_machine': FactorizationMachineAttributes;
  readonly 'gaussian_bayes': GaussianBayesAttributes;
  readonly 'perceptron': PerceptronAttributes;
  readonly 'kernel_values': KernelValuesAttributes;
  readonly 'pairwise_coupling': PairwiseCouplingAttributes;
  readonly 'nearest_rows': NearestRowsAttributes;
  readonly 'k_means': KMeansAttributes;
  readonly 'bisecting_k_means': BisectingKMeansAttributes;
  readonly 'gaussian_mixture': GaussianMixtureAttributes;
  readonly 'als': AlsAttributes;
  readonly 'fp_growth': FpGrowthAttributes;
  readonly 'lda': LdaAttributes;
  readonly 'pmml.field': PmmlFieldAttributes;
  readonly 'pmml.norm_continuous': PmmlNormContinuousAttributes;
  readonly 'pmml.norm_discrete': PmmlNormDiscreteAttributes;
  readonly 'pmml.discretize': PmmlDiscretizeAttributes;
  readonly 'pmml.map_values': PmmlMapValuesAttributes;
  readonly 'pmml.text_index': PmmlTextIndexAttributes;
  readonly 'pmml.aggregate': PmmlAggregateAttributes;
  readonly 'pmml.vector': PmmlVectorAttributes;
  readonly 'pmml.classify': PmmlClassifyAttributes;
  readonly 'pmml.pick': PmmlPickAttributes;
  readonly 'pmml.ranked': PmmlRankedAttributes;
  readonly 'pmml.element': PmmlElementAttributes;
  readonly 'pmml.tree': PmmlTreeAttributes;
  readonly 'pmml.segment': PmmlSegmentAttributes;
  readonly 'pmml.choose': PmmlChooseAttributes;
  readonly 'pmml.combine': PmmlCombineAttributes;
  readonly 'pmml.vote': PmmlVoteAttributes;
  readonly 'pmml.blend': PmmlBlendAttributes;
  readonly 'pmml.leaf_votes': PmmlLeafVotesAttributes;
  readonly 'pmml.collect': PmmlCollectAttributes;
  readonly 'pmml.rules': PmmlRulesAttributes;
  readonly 'pmml.scorecard': PmmlScorecardAttributes;
  readonly 'pmml.anomaly': PmmlAnomalyAttributes;
  readonly 'pmml.association': PmmlAssociationAttributes;
  readonly 'pmml.rule_value': PmmlRuleValueAttributes;
  readonly 'pmml.clustering': PmmlClusteringAttributes;
  readonly 'pmml.gaussian_process': PmmlGaussianProcessAttributes;
  readonly 'pmml.general_regression': PmmlGeneralRegressionAttributes;
  readonly 'pmml.naive_bayes': PmmlNaiveBayesAttributes;
  readonly 'pmml.nearest_neighbor': PmmlNearestNeighborAttributes;
  readonly 'pmml.neural_network': PmmlNeuralNetworkAttributes;
  readonly 'pmml.regression': PmmlRegressionAttributes;
  readonly 'pmml.support_vectors': PmmlSupportVectorsAttributes;
}
