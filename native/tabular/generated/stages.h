// The kinds of stage of a plan with their attributes. Data only; any thread. Generated from proto/stages by proto/generate.mjs.
#pragma once

#include <cstdint>
#include <string_view>

#include "tabular/contract/attributes.h"

namespace serval::tabular {

// Plans of another version are refused.
inline constexpr uint32_t kPlanVersion = 0xd66f4c34;

}  // namespace serval::tabular

namespace serval::tabular::stages {

enum class ForestSum : uint8_t { Sum, Mean, Each };
inline constexpr std::string_view kForestSumWords[] = {"sum", "mean", "each"};

enum class OneHotInvalid : uint8_t { Error, Keep, Zeros };
inline constexpr std::string_view kOneHotInvalidWords[] = {"error", "keep", "zeros"};

enum class AssemblerInvalid : uint8_t { Error, Keep, Nan };
inline constexpr std::string_view kAssemblerInvalidWords[] = {"error", "keep", "nan"};

enum class Word2vecKernel : uint8_t { Average, Sqrt };
inline constexpr std::string_view kWord2vecKernelWords[] = {"average", "sqrt"};

enum class MathUnary : uint8_t { Log, Exp, Sqrt, Sin, Cos, Tan, Abs, Logit, Floor, Ceil, RoundOf };
inline constexpr std::string_view kMathUnaryWords[] = {"log", "exp", "sqrt", "sin", "cos", "tan", "abs", "logit", "floor", "ceil", "round_of"};

enum class MathBinary : uint8_t { Add, Sub, Mul, Div, Rem, LogN, Pow, Min, Max };
inline constexpr std::string_view kMathBinaryWords[] = {"add", "sub", "mul", "div", "rem", "log_n", "pow", "min", "max"};

enum class ScoreLink : uint8_t { None, Sigmoid, FirstSigmoid, SecondSigmoid, Gbt, Softmax, Normalize };
inline constexpr std::string_view kScoreLinkWords[] = {"none", "sigmoid", "first_sigmoid", "second_sigmoid", "gbt", "softmax", "normalize"};

enum class Distance : uint8_t { Euclidean, Cosine };
inline constexpr std::string_view kDistanceWords[] = {"euclidean", "cosine"};

enum class FeatureRule : uint8_t { Any, Nonnegative, Binary };
inline constexpr std::string_view kFeatureRuleWords[] = {"any", "nonnegative", "binary"};

enum class GlmLink : uint8_t { Identity, Log, Inverse, Logit, Probit, Cloglog, Sqrt, Power };
inline constexpr std::string_view kGlmLinkWords[] = {"identity", "log", "inverse", "logit", "probit", "cloglog", "sqrt", "power"};

enum class GlmFamily : uint8_t { Gaussian, Binomial, Poisson, Gamma, Tweedie };
inline constexpr std::string_view kGlmFamilyWords[] = {"gaussian", "binomial", "poisson", "gamma", "tweedie"};

enum class ProbabilityRole : uint8_t { Probability, Prediction };
inline constexpr std::string_view kProbabilityRoleWords[] = {"probability", "prediction"};

enum class GreatestRole : uint8_t { Index, Value };
inline constexpr std::string_view kGreatestRoleWords[] = {"index", "value"};

enum class LabelerRole : uint8_t { Probabilities, Labels };
inline constexpr std::string_view kLabelerRoleWords[] = {"probabilities", "labels"};

enum class GlmRole : uint8_t { Prediction, LinkPrediction };
inline constexpr std::string_view kGlmRoleWords[] = {"prediction", "linkPrediction"};

enum class AftRole : uint8_t { Prediction, Quantiles };
inline constexpr std::string_view kAftRoleWords[] = {"prediction", "quantiles"};

enum class SvmKernel : uint8_t { Linear, Polynomial, RadialBasis, Sigmoid };
inline constexpr std::string_view kSvmKernelWords[] = {"linear", "polynomial", "radialBasis", "sigmoid"};

enum class HiddenFunction : uint8_t { Logistic, Tanh, Rectifier, Identity };
inline constexpr std::string_view kHiddenFunctionWords[] = {"logistic", "tanh", "rectifier", "identity"};

enum class NeighborMetric : uint8_t { Euclidean, Manhattan, Chebyshev, Minkowski };
inline constexpr std::string_view kNeighborMetricWords[] = {"euclidean", "manhattan", "chebyshev", "minkowski"};

enum class InvalidValues : uint8_t { Refuse, AsIs, AsMissing, Replace };
inline constexpr std::string_view kInvalidValuesWords[] = {"refuse", "as_is", "as_missing", "replace"};

enum class Outliers : uint8_t { AsIs, AsMissing, AsExtreme };
inline constexpr std::string_view kOutliersWords[] = {"as_is", "as_missing", "as_extreme"};

enum class AggregateFunction : uint8_t { Count, Sum, Average, Min, Max };
inline constexpr std::string_view kAggregateFunctionWords[] = {"count", "sum", "average", "min", "max"};

enum class TermWeights : uint8_t { TermFrequency, Binary, Logarithmic };
inline constexpr std::string_view kTermWeightsWords[] = {"termFrequency", "binary", "logarithmic"};

enum class TreeMissing : uint8_t { None, Last, Null, Default, Weighted, Aggregate };
inline constexpr std::string_view kTreeMissingWords[] = {"none", "last", "null", "default", "weighted", "aggregate"};

enum class SegmentMissing : uint8_t { Continue, Skip, Missing };
inline constexpr std::string_view kSegmentMissingWords[] = {"continue", "skip", "missing"};

enum class CombineMethod : uint8_t { Sum, WeightedSum, Average, WeightedAverage, Median, WeightedMedian, MajorityVote, WeightedMajorityVote, Max };
inline constexpr std::string_view kCombineMethodWords[] = {"sum", "weightedSum", "average", "weightedAverage", "median", "weightedMedian", "majorityVote", "weightedMajorityVote", "max"};

enum class RulesMethod : uint8_t { FirstHit, WeightedSum, WeightedMax };
inline constexpr std::string_view kRulesMethodWords[] = {"firstHit", "weightedSum", "weightedMax"};

enum class AnomalyAlgorithm : uint8_t { Iforest, ClusterMeanDist };
inline constexpr std::string_view kAnomalyAlgorithmWords[] = {"iforest", "clusterMeanDist"};

enum class AssociationAlgorithm : uint8_t { Recommendation, ExclusiveRecommendation, RuleAssociation };
inline constexpr std::string_view kAssociationAlgorithmWords[] = {"recommendation", "exclusiveRecommendation", "ruleAssociation"};

enum class GaussianKernel : uint8_t { SquaredExponential, AbsoluteExponential, GeneralizedExponential };
inline constexpr std::string_view kGaussianKernelWords[] = {"squaredExponential", "absoluteExponential", "generalizedExponential"};

enum class RegressionModel : uint8_t { Linear, Generalized, Multinomial, Ordinal, Cox };
inline constexpr std::string_view kRegressionModelWords[] = {"linear", "generalized", "multinomial", "ordinal", "cox"};

enum class PmmlLink : uint8_t { Identity, Logit, Probit, Cloglog, Loglog, Cauchit, Log, Logc, Negbin, Oddspower, Power };
inline constexpr std::string_view kPmmlLinkWords[] = {"identity", "logit", "probit", "cloglog", "loglog", "cauchit", "log", "logc", "negbin", "oddspower", "power"};

enum class Measure : uint8_t { Euclidean, SquaredEuclidean, Chebychev, CityBlock, Minkowski, SimpleMatching, Jaccard, Tanimoto, BinarySimilarity };
inline constexpr std::string_view kMeasureWords[] = {"euclidean", "squaredEuclidean", "chebychev", "cityBlock", "minkowski", "simpleMatching", "jaccard", "tanimoto", "binarySimilarity"};

enum class CompareFunction : uint8_t { AbsDiff, GaussSim, Delta, Equal };
inline constexpr std::string_view kCompareFunctionWords[] = {"absDiff", "gaussSim", "delta", "equal"};

enum class Scoring : uint8_t { Average, WeightedAverage, Median, MajorityVote, WeightedMajorityVote };
inline constexpr std::string_view kScoringWords[] = {"average", "weightedAverage", "median", "majorityVote", "weightedMajorityVote"};

enum class Activation : uint8_t { Threshold, Logistic, Tanh, Identity, Exponential, Reciprocal, Square, Gauss, Sine, Cosine, Elliott, Arctan, Rectifier, RadialBasis };
inline constexpr std::string_view kActivationWords[] = {"threshold", "logistic", "tanh", "identity", "exponential", "reciprocal", "square", "Gauss", "sine", "cosine", "Elliott", "arctan", "rectifier", "radialBasis"};

enum class LayerNormalization : uint8_t { None, Simplemax, Softmax };
inline constexpr std::string_view kLayerNormalizationWords[] = {"none", "simplemax", "softmax"};

enum class RegressionNormalization : uint8_t { None, Simplemax, Softmax, Logit, Probit, Cloglog, Exp, Loglog, Cauchit };
inline constexpr std::string_view kRegressionNormalizationWords[] = {"none", "simplemax", "softmax", "logit", "probit", "cloglog", "exp", "loglog", "cauchit"};

enum class SvmMethod : uint8_t { Regression, OneAgainstAll, OneAgainstOne };
inline constexpr std::string_view kSvmMethodWords[] = {"regression", "oneAgainstAll", "oneAgainstOne"};

namespace centers {
inline constexpr RealsAttribute centers{{"centers", true}};
inline constexpr ChoiceAttribute<Distance> distance{{"distance", true}, kDistanceWords};
}  // namespace centers

namespace pmml_table {
inline constexpr ValuesAttribute map_missing{{"map_missing", false}};
}  // namespace pmml_table

namespace pmml_ensemble {
inline constexpr ChoiceAttribute<CombineMethod> method{{"method", true}, kCombineMethodWords};
inline constexpr RealsAttribute weights{{"weights", true}};
inline constexpr IntegersAttribute mask_of{{"mask_of", true}};
inline constexpr IntegersAttribute weight_of{{"weight_of", true}};
inline constexpr ChoiceAttribute<SegmentMissing> on_missing{{"on_missing", false}, kSegmentMissingWords, SegmentMissing::Continue};
inline constexpr RealAttribute threshold{{"threshold", false}, 1};
}  // namespace pmml_ensemble

namespace pmml_comparison {
inline constexpr ChoiceAttribute<Measure> measure{{"measure", true}, kMeasureWords};
inline constexpr RealAttribute minkowski_p{{"minkowski_p", false}};
inline constexpr RealsAttribute binary_parameters{{"binary_parameters", false}};
inline constexpr ChoicesAttribute<CompareFunction> compare{{"compare", true}, kCompareFunctionWords};
inline constexpr RealsAttribute field_weights{{"field_weights", true}};
inline constexpr RealsAttribute similarity_scales{{"similarity_scales", true}};
inline constexpr RealsAttribute missing_weights{{"missing_weights", true}};
}  // namespace pmml_comparison

namespace derive {
inline constexpr ExpressionsAttribute expressions{{"expressions", true}};
inline constexpr FlagAttribute deferred{{"deferred", false}};
inline constexpr FlagAttribute ansi{{"ansi", false}};
inline constexpr TextsAttribute written{{"written", false}};
inline constexpr Attribute kAttributes[] = {{"expressions", true}, {"deferred", false}, {"ansi", false}, {"written", false}};
inline constexpr KindRule kind{"derive", kAttributes};
}  // namespace derive

namespace pick {
inline constexpr TextsAttribute texts{{"texts", false}};
inline constexpr IntegersAttribute integers{{"integers", false}};
inline constexpr RealsAttribute reals{{"reals", false}};
inline constexpr IntegerAttribute width{{"width", false}, 1};
inline constexpr FlagAttribute nan_is_missing{{"nan_is_missing", false}};
inline constexpr Attribute kAttributes[] = {{"texts", false}, {"integers", false}, {"reals", false}, {"width", false}, {"nan_is_missing", false}};
inline constexpr KindRule kind{"pick", kAttributes};
}  // namespace pick

namespace forest {
inline constexpr IntegersAttribute feature{{"feature", true}};
inline constexpr RealsAttribute threshold{{"threshold", true}};
inline constexpr IntegersAttribute left{{"left", true}};
inline constexpr IntegersAttribute right{{"right", true}};
inline constexpr IntegersAttribute test{{"test", false}};
inline constexpr IntegersAttribute missing{{"missing", false}};
inline constexpr IntegersAttribute roots{{"roots", true}};
inline constexpr RealsAttribute leaves{{"leaves", true}};
inline constexpr IntegerAttribute width{{"width", true}};
inline constexpr IntegersAttribute set_offsets{{"set_offsets", false}};
inline constexpr IntegersAttribute set_members{{"set_members", false}};
inline constexpr RealsAttribute weights{{"weights", false}};
inline constexpr ChoiceAttribute<ForestSum> sum{{"sum", true}, kForestSumWords};
inline constexpr RealsAttribute base{{"base", false}};
inline constexpr IntegersAttribute round_to_float{{"round_to_float", false}};
inline constexpr FlagAttribute nan_is_largest{{"nan_is_largest", false}};
inline constexpr FlagAttribute float_sums{{"float_sums", false}};
inline constexpr FlagAttribute skip_no_answer{{"skip_no_answer", false}};
inline constexpr FlagAttribute vector{{"vector", false}};
inline constexpr IntegerAttribute vector_size{{"vector_size", false}, -1};
inline constexpr FlagAttribute has_values{{"has_values", false}};
inline constexpr FlagAttribute has_leaf{{"has_leaf", false}};
inline constexpr FlagAttribute explained{{"explained", false}};
inline constexpr IntegersAttribute category_counts{{"category_counts", false}};
inline constexpr TextsAttribute categories{{"categories", false}};
inline constexpr Attribute kAttributes[] = {{"feature", true}, {"threshold", true}, {"left", true}, {"right", true}, {"test", false}, {"missing", false}, {"roots", true}, {"leaves", true}, {"width", true}, {"set_offsets", false}, {"set_members", false}, {"weights", false}, {"sum", true}, {"base", false}, {"round_to_float", false}, {"nan_is_largest", false}, {"float_sums", false}, {"skip_no_answer", false}, {"vector", false}, {"vector_size", false}, {"has_values", false}, {"has_leaf", false}, {"explained", false}, {"category_counts", false}, {"categories", false}};
inline constexpr KindRule kind{"forest", kAttributes};
}  // namespace forest

namespace forest_shap {
inline constexpr IntegersAttribute forests{{"forests", true}};
inline constexpr IntegersAttribute scores{{"scores", true}};
inline constexpr IntegerAttribute score_count{{"score_count", true}};
inline constexpr IntegerAttribute feature_count{{"feature_count", true}};
inline constexpr IntegersAttribute players{{"players", true}};
inline constexpr IntegersAttribute share_offsets{{"share_offsets", false}};
inline constexpr IntegersAttribute share_features{{"share_features", false}};
inline constexpr RealsAttribute covers{{"covers", false}};
inline constexpr TextAttribute uncovered{{"uncovered", false}};
inline constexpr TextAttribute lacks{{"lacks", false}};
inline constexpr RealAttribute scale{{"scale", false}, 1};
inline constexpr RealsAttribute bias{{"bias", false}};
inline constexpr Attribute kAttributes[] = {{"forests", true}, {"scores", true}, {"score_count", true}, {"feature_count", true}, {"players", true}, {"share_offsets", false}, {"share_features", false}, {"covers", false}, {"uncovered", false}, {"lacks", false}, {"scale", false}, {"bias", false}};
inline constexpr KindRule kind{"forest_shap", kAttributes};
}  // namespace forest_shap

namespace forest_trees {
inline constexpr IntegersAttribute forests{{"forests", true}};
inline constexpr IntegersAttribute order{{"order", true}};
inline constexpr IntegersAttribute leaf_ids{{"leaf_ids", false}};
inline constexpr FlagAttribute values{{"values", false}};
inline constexpr RealAttribute scale{{"scale", false}, 1};
inline constexpr Attribute kAttributes[] = {{"forests", true}, {"order", true}, {"leaf_ids", false}, {"values", false}, {"scale", false}};
inline constexpr KindRule kind{"forest_trees", kAttributes};
}  // namespace forest_trees

namespace linear_shap {
inline constexpr RealsAttribute coefficients{{"coefficients", true}};
inline constexpr RealsAttribute intercepts{{"intercepts", true}};
inline constexpr FlagAttribute vector{{"vector", false}};
inline constexpr RealsAttribute means{{"means", false}};
inline constexpr TextAttribute unmeant{{"unmeant", false}};
inline constexpr Attribute kAttributes[] = {{"coefficients", true}, {"intercepts", true}, {"vector", false}, {"means", false}, {"unmeant", false}};
inline constexpr KindRule kind{"linear_shap", kAttributes};
}  // namespace linear_shap

namespace explained_sum {
inline constexpr RealsAttribute weights{{"weights", true}};
inline constexpr IntegersAttribute counts{{"counts", true}};
inline constexpr IntegersAttribute places{{"places", true}};
inline constexpr IntegerAttribute size{{"size", true}};
inline constexpr RealsAttribute base{{"base", false}};
inline constexpr Attribute kAttributes[] = {{"weights", true}, {"counts", true}, {"places", true}, {"size", true}, {"base", false}};
inline constexpr KindRule kind{"explained_sum", kAttributes};
}  // namespace explained_sum

namespace string_indexer {
inline constexpr TextsAttribute labels{{"labels", true}};
inline constexpr FlagAttribute keep{{"keep", false}};
inline constexpr FlagAttribute absent{{"absent", false}};
inline constexpr Attribute kAttributes[] = {{"labels", true}, {"keep", false}, {"absent", false}};
inline constexpr KindRule kind{"string_indexer", kAttributes};
}  // namespace string_indexer

namespace index_to_string {
inline constexpr TextsAttribute labels{{"labels", true}};
inline constexpr Attribute kAttributes[] = {{"labels", true}};
inline constexpr KindRule kind{"index_to_string", kAttributes};
}  // namespace index_to_string

namespace string_map {
inline constexpr TextsAttribute labels{{"labels", true}};
inline constexpr RealsAttribute values{{"values", true}};
inline constexpr RealAttribute fallback{{"fallback", false}};
inline constexpr Attribute kAttributes[] = {{"labels", true}, {"values", true}, {"fallback", false}};
inline constexpr KindRule kind{"string_map", kAttributes};
}  // namespace string_map

namespace regex_indexer {
inline constexpr TextsAttribute regexes{{"regexes", true}};
inline constexpr IntegersAttribute indices{{"indices", true}};
inline constexpr IntegerAttribute fallback{{"fallback", false}};
inline constexpr Attribute kAttributes[] = {{"regexes", true}, {"indices", true}, {"fallback", false}};
inline constexpr KindRule kind{"regex_indexer", kAttributes};
}  // namespace regex_indexer

namespace number_map {
inline constexpr RealsAttribute keys{{"keys", true}};
inline constexpr RealsAttribute values{{"values", true}};
inline constexpr RealAttribute missing{{"missing", false}};
inline constexpr RealAttribute other{{"other", false}};
inline constexpr Attribute kAttributes[] = {{"keys", true}, {"values", true}, {"missing", false}, {"other", false}};
inline constexpr KindRule kind{"number_map", kAttributes};
}  // namespace number_map

namespace bucketizer {
inline constexpr RealsAttribute splits{{"splits", true}};
inline constexpr FlagAttribute keep{{"keep", false}};
inline constexpr FlagAttribute skip{{"skip", false}};
inline constexpr Attribute kAttributes[] = {{"splits", true}, {"keep", false}, {"skip", false}};
inline constexpr KindRule kind{"bucketizer", kAttributes};
}  // namespace bucketizer

namespace binarizer {
inline constexpr RealAttribute threshold{{"threshold", true}};
inline constexpr FlagAttribute missingIsZero{{"missingIsZero", false}};
inline constexpr Attribute kAttributes[] = {{"threshold", true}, {"missingIsZero", false}};
inline constexpr KindRule kind{"binarizer", kAttributes};
}  // namespace binarizer

namespace imputer {
inline constexpr RealAttribute surrogate{{"surrogate", true}};
inline constexpr RealAttribute missingValue{{"missingValue", true}};
inline constexpr Attribute kAttributes[] = {{"surrogate", true}, {"missingValue", true}};
inline constexpr KindRule kind{"imputer", kAttributes};
}  // namespace imputer

namespace coalesce {
inline constexpr KindRule kind{"coalesce", {}};
}  // namespace coalesce

namespace math_unary {
inline constexpr ChoiceAttribute<MathUnary> operation{{"operation", true}, kMathUnaryWords};
inline constexpr Attribute kAttributes[] = {{"operation", true}};
inline constexpr KindRule kind{"math_unary", kAttributes};
}  // namespace math_unary

namespace math_binary {
inline constexpr ChoiceAttribute<MathBinary> operation{{"operation", true}, kMathBinaryWords};
inline constexpr FlagAttribute hasA{{"hasA", false}};
inline constexpr FlagAttribute hasB{{"hasB", false}};
inline constexpr RealAttribute da{{"da", false}};
inline constexpr RealAttribute db{{"db", false}};
inline constexpr Attribute kAttributes[] = {{"operation", true}, {"hasA", false}, {"hasB", false}, {"da", false}, {"db", false}};
inline constexpr KindRule kind{"math_binary", kAttributes};
}  // namespace math_binary

namespace one_hot {
inline constexpr IntegerAttribute size{{"size", true}};
inline constexpr ChoiceAttribute<OneHotInvalid> invalid{{"invalid", true}, kOneHotInvalidWords};
inline constexpr FlagAttribute dropLast{{"dropLast", false}};
inline constexpr Attribute kAttributes[] = {{"size", true}, {"invalid", true}, {"dropLast", false}};
inline constexpr KindRule kind{"one_hot", kAttributes};
}  // namespace one_hot

namespace vector_assembler {
inline constexpr IntegersAttribute sizes{{"sizes", false}};
inline constexpr ChoiceAttribute<AssemblerInvalid> invalid{{"invalid", true}, kAssemblerInvalidWords};
inline constexpr Attribute kAttributes[] = {{"sizes", false}, {"invalid", true}};
inline constexpr KindRule kind{"vector_assembler", kAttributes};
}  // namespace vector_assembler

namespace vector_slicer {
inline constexpr IntegersAttribute indices{{"indices", true}};
inline constexpr Attribute kAttributes[] = {{"indices", true}};
inline constexpr KindRule kind{"vector_slicer", kAttributes};
}  // namespace vector_slicer

namespace vector_element {
inline constexpr IntegerAttribute index{{"index", true}};
inline constexpr Attribute kAttributes[] = {{"index", true}};
inline constexpr KindRule kind{"vector_element", kAttributes};
}  // namespace vector_element

namespace vector_size_hint {
inline constexpr IntegerAttribute size{{"size", true}};
inline constexpr FlagAttribute check{{"check", false}};
inline constexpr Attribute kAttributes[] = {{"size", true}, {"check", false}};
inline constexpr KindRule kind{"vector_size_hint", kAttributes};
}  // namespace vector_size_hint

namespace vector_indexer {
inline constexpr IntegerAttribute size{{"size", true}};
inline constexpr FlagAttribute keep{{"keep", false}};
inline constexpr IntegersAttribute features{{"features", true}};
inline constexpr IntegersAttribute counts{{"counts", true}};
inline constexpr RealsAttribute values{{"values", true}};
inline constexpr IntegersAttribute indices{{"indices", true}};
inline constexpr Attribute kAttributes[] = {{"size", true}, {"keep", false}, {"features", true}, {"counts", true}, {"values", true}, {"indices", true}};
inline constexpr KindRule kind{"vector_indexer", kAttributes};
}  // namespace vector_indexer

namespace interaction {
inline constexpr IntegersAttribute counts{{"counts", true}};
inline constexpr IntegersAttribute features{{"features", true}};
inline constexpr Attribute kAttributes[] = {{"counts", true}, {"features", true}};
inline constexpr KindRule kind{"interaction", kAttributes};
}  // namespace interaction

namespace polynomial_expansion {
inline constexpr IntegerAttribute degree{{"degree", true}};
inline constexpr Attribute kAttributes[] = {{"degree", true}};
inline constexpr KindRule kind{"polynomial_expansion", kAttributes};
}  // namespace polynomial_expansion

namespace feature_products {
inline constexpr IntegersAttribute counts{{"counts", true}};
inline constexpr IntegersAttribute indices{{"indices", true}};
inline constexpr IntegersAttribute powers{{"powers", true}};
inline constexpr Attribute kAttributes[] = {{"counts", true}, {"indices", true}, {"powers", true}};
inline constexpr KindRule kind{"feature_products", kAttributes};
}  // namespace feature_products

namespace dct {
inline constexpr FlagAttribute inverse{{"inverse", false}};
inline constexpr Attribute kAttributes[] = {{"inverse", false}};
inline constexpr KindRule kind{"dct", kAttributes};
}  // namespace dct

namespace pca {
inline constexpr RealsAttribute components{{"components", true}};
inline constexpr IntegerAttribute k{{"k", true}};
inline constexpr Attribute kAttributes[] = {{"components", true}, {"k", true}};
inline constexpr KindRule kind{"pca", kAttributes};
}  // namespace pca

namespace random_projection_lsh {
inline constexpr RealsAttribute vectors{{"vectors", true}};
inline constexpr IntegerAttribute tables{{"tables", true}};
inline constexpr RealAttribute bucketLength{{"bucketLength", true}};
inline constexpr FlagAttribute divide{{"divide", false}};
inline constexpr Attribute kAttributes[] = {{"vectors", true}, {"tables", true}, {"bucketLength", true}, {"divide", false}};
inline constexpr KindRule kind{"random_projection_lsh", kAttributes};
}  // namespace random_projection_lsh

namespace min_hash_lsh {
inline constexpr IntegersAttribute a{{"a", true}};
inline constexpr IntegersAttribute b{{"b", true}};
inline constexpr Attribute kAttributes[] = {{"a", true}, {"b", true}};
inline constexpr KindRule kind{"min_hash_lsh", kAttributes};
}  // namespace min_hash_lsh

namespace scale {
inline constexpr RealsAttribute shift{{"shift", false}};
inline constexpr RealsAttribute scale{{"scale", false}};
inline constexpr FlagAttribute clamp{{"clamp", false}};
inline constexpr Attribute kAttributes[] = {{"shift", false}, {"scale", false}, {"clamp", false}};
inline constexpr KindRule kind{"scale", kAttributes};
}  // namespace scale

namespace min_max_scaler {
inline constexpr RealsAttribute low{{"low", true}};
inline constexpr RealsAttribute scale{{"scale", true}};
inline constexpr RealAttribute min{{"min", true}};
inline constexpr RealAttribute max{{"max", true}};
inline constexpr Attribute kAttributes[] = {{"low", true}, {"scale", true}, {"min", true}, {"max", true}};
inline constexpr KindRule kind{"min_max_scaler", kAttributes};
}  // namespace min_max_scaler

namespace normalizer {
inline constexpr RealAttribute p{{"p", true}};
inline constexpr Attribute kAttributes[] = {{"p", true}};
inline constexpr KindRule kind{"normalizer", kAttributes};
}  // namespace normalizer

namespace tokenizer {
inline constexpr KindRule kind{"tokenizer", {}};
}  // namespace tokenizer

namespace regex_tokenizer {
inline constexpr TextAttribute pattern{{"pattern", true}};
inline constexpr FlagAttribute gaps{{"gaps", false}};
inline constexpr IntegerAttribute minTokenLength{{"minTokenLength", true}};
inline constexpr FlagAttribute toLowercase{{"toLowercase", false}};
inline constexpr Attribute kAttributes[] = {{"pattern", true}, {"gaps", false}, {"minTokenLength", true}, {"toLowercase", false}};
inline constexpr KindRule kind{"regex_tokenizer", kAttributes};
}  // namespace regex_tokenizer

namespace stop_words {
inline constexpr TextsAttribute stopWords{{"stopWords", true}};
inline constexpr FlagAttribute caseSensitive{{"caseSensitive", false}};
inline constexpr Attribute kAttributes[] = {{"stopWords", true}, {"caseSensitive", false}};
inline constexpr KindRule kind{"stop_words", kAttributes};
}  // namespace stop_words

namespace ngram {
inline constexpr IntegerAttribute n{{"n", true}};
inline constexpr Attribute kAttributes[] = {{"n", true}};
inline constexpr KindRule kind{"ngram", kAttributes};
}  // namespace ngram

namespace word_filter {
inline constexpr IntegerAttribute length{{"length", true}};
inline constexpr Attribute kAttributes[] = {{"length", true}};
inline constexpr KindRule kind{"word_filter", kAttributes};
}  // namespace word_filter

namespace hashing_tf {
inline constexpr IntegerAttribute size{{"size", true}};
inline constexpr FlagAttribute binary{{"binary", false}};
inline constexpr IntegerAttribute hashVersion{{"hashVersion", true}};
inline constexpr Attribute kAttributes[] = {{"size", true}, {"binary", false}, {"hashVersion", true}};
inline constexpr KindRule kind{"hashing_tf", kAttributes};
}  // namespace hashing_tf

namespace count_vectorizer {
inline constexpr TextsAttribute vocabulary{{"vocabulary", true}};
inline constexpr FlagAttribute binary{{"binary", false}};
inline constexpr RealAttribute minTf{{"minTf", true}};
inline constexpr Attribute kAttributes[] = {{"vocabulary", true}, {"binary", false}, {"minTf", true}};
inline constexpr KindRule kind{"count_vectorizer", kAttributes};
}  // namespace count_vectorizer

namespace word2vec {
inline constexpr TextsAttribute words{{"words", true}};
inline constexpr RealsAttribute vectors{{"vectors", true}};
inline constexpr IntegerAttribute size{{"size", true}};
inline constexpr ChoiceAttribute<Word2vecKernel> kernel{{"kernel", false}, kWord2vecKernelWords, Word2vecKernel::Average};
inline constexpr Attribute kAttributes[] = {{"words", true}, {"vectors", true}, {"size", true}, {"kernel", false}};
inline constexpr KindRule kind{"word2vec", kAttributes};
}  // namespace word2vec

namespace feature_hasher {
inline constexpr IntegerAttribute size{{"size", true}};
inline constexpr IntegerAttribute hashVersion{{"hashVersion", true}};
inline constexpr IntegersAttribute categorical{{"categorical", true}};
inline constexpr TextsAttribute names{{"names", true}};
inline constexpr Attribute kAttributes[] = {{"size", true}, {"hashVersion", true}, {"categorical", true}, {"names", true}};
inline constexpr KindRule kind{"feature_hasher", kAttributes};
}  // namespace feature_hasher

namespace classify {
inline constexpr ChoiceAttribute<ScoreLink> link{{"link", true}, kScoreLinkWords};
inline constexpr ChoicesAttribute<ProbabilityRole> roles{{"roles", true}, kProbabilityRoleWords};
inline constexpr RealsAttribute thresholds{{"thresholds", false}};
inline constexpr FlagAttribute zeroInfinity{{"zeroInfinity", false}};
inline constexpr RealAttribute rawThreshold{{"rawThreshold", false}};
inline constexpr RealAttribute probabilityThreshold{{"probabilityThreshold", false}};
inline constexpr Attribute kAttributes[] = {{"link", true}, {"roles", true}, {"thresholds", false}, {"zeroInfinity", false}, {"rawThreshold", false}, {"probabilityThreshold", false}};
inline constexpr KindRule kind{"classify", kAttributes};
}  // namespace classify

namespace one_vs_rest {
inline constexpr KindRule kind{"one_vs_rest", {}};
}  // namespace one_vs_rest

namespace greatest {
inline constexpr ChoicesAttribute<GreatestRole> roles{{"roles", true}, kGreatestRoleWords};
inline constexpr Attribute kAttributes[] = {{"roles", true}};
inline constexpr KindRule kind{"greatest", kAttributes};
}  // namespace greatest

namespace multinomial_labeler {
inline constexpr TextsAttribute names{{"names", true}};
inline constexpr RealAttribute threshold{{"threshold", true}};
inline constexpr ChoicesAttribute<LabelerRole> roles{{"roles", true}, kLabelerRoleWords};
inline constexpr Attribute kAttributes[] = {{"names", true}, {"threshold", true}, {"roles", true}};
inline constexpr KindRule kind{"multinomial_labeler", kAttributes};
}  // namespace multinomial_labeler

namespace linear_scores {
inline constexpr RealsAttribute coefficients{{"coefficients", true}};
inline constexpr RealsAttribute intercepts{{"intercepts", true}};
inline constexpr FlagAttribute mirror{{"mirror", false}};
inline constexpr ChoiceAttribute<FeatureRule> rule{{"rule", false}, kFeatureRuleWords, FeatureRule::Any};
inline constexpr FlagAttribute minusLogSumExp{{"minusLogSumExp", false}};
inline constexpr Attribute kAttributes[] = {{"coefficients", true}, {"intercepts", true}, {"mirror", false}, {"rule", false}, {"minusLogSumExp", false}};
inline constexpr KindRule kind{"linear_scores", kAttributes};
}  // namespace linear_scores

namespace linear_regression {
inline constexpr RealsAttribute coefficients{{"coefficients", true}};
inline constexpr RealAttribute intercept{{"intercept", true}};
inline constexpr Attribute kAttributes[] = {{"coefficients", true}, {"intercept", true}};
inline constexpr KindRule kind{"linear_regression", kAttributes};
}  // namespace linear_regression

namespace glm {
inline constexpr RealsAttribute coefficients{{"coefficients", true}};
inline constexpr RealAttribute intercept{{"intercept", true}};
inline constexpr ChoiceAttribute<GlmFamily> family{{"family", true}, kGlmFamilyWords};
inline constexpr ChoiceAttribute<GlmLink> link{{"link", true}, kGlmLinkWords};
inline constexpr RealAttribute linkPower{{"linkPower", false}, 1};
inline constexpr ChoicesAttribute<GlmRole> roles{{"roles", true}, kGlmRoleWords};
inline constexpr Attribute kAttributes[] = {{"coefficients", true}, {"intercept", true}, {"family", true}, {"link", true}, {"linkPower", false}, {"roles", true}};
inline constexpr KindRule kind{"glm", kAttributes};
}  // namespace glm

namespace aft {
inline constexpr RealsAttribute coefficients{{"coefficients", true}};
inline constexpr RealAttribute intercept{{"intercept", true}};
inline constexpr RealAttribute scale{{"scale", true}};
inline constexpr RealsAttribute probabilities{{"probabilities", true}};
inline constexpr ChoicesAttribute<AftRole> roles{{"roles", true}, kAftRoleWords};
inline constexpr Attribute kAttributes[] = {{"coefficients", true}, {"intercept", true}, {"scale", true}, {"probabilities", true}, {"roles", true}};
inline constexpr KindRule kind{"aft", kAttributes};
}  // namespace aft

namespace isotonic {
inline constexpr RealsAttribute boundaries{{"boundaries", true}};
inline constexpr RealsAttribute predictions{{"predictions", true}};
inline constexpr IntegerAttribute index{{"index", false}, 0};
inline constexpr Attribute kAttributes[] = {{"boundaries", true}, {"predictions", true}, {"index", false}};
inline constexpr KindRule kind{"isotonic", kAttributes};
}  // namespace isotonic

namespace factorization_machine {
inline constexpr RealAttribute intercept{{"intercept", true}};
inline constexpr RealsAttribute linear{{"linear", true}};
inline constexpr RealsAttribute factors{{"factors", true}};
inline constexpr IntegerAttribute size{{"size", true}};
inline constexpr FlagAttribute mirror{{"mirror", false}};
inline constexpr Attribute kAttributes[] = {{"intercept", true}, {"linear", true}, {"factors", true}, {"size", true}, {"mirror", false}};
inline constexpr KindRule kind{"factorization_machine", kAttributes};
}  // namespace factorization_machine

namespace gaussian_bayes {
inline constexpr RealsAttribute pi{{"pi", true}};
inline constexpr RealsAttribute theta{{"theta", true}};
inline constexpr RealsAttribute sigma{{"sigma", true}};
inline constexpr Attribute kAttributes[] = {{"pi", true}, {"theta", true}, {"sigma", true}};
inline constexpr KindRule kind{"gaussian_bayes", kAttributes};
}  // namespace gaussian_bayes

namespace perceptron {
inline constexpr IntegersAttribute layers{{"layers", true}};
inline constexpr RealsAttribute weights{{"weights", true}};
inline constexpr ChoiceAttribute<HiddenFunction> hidden{{"hidden", false}, kHiddenFunctionWords, HiddenFunction::Logistic};
inline constexpr Attribute kAttributes[] = {{"layers", true}, {"weights", true}, {"hidden", false}};
inline constexpr KindRule kind{"perceptron", kAttributes};
}  // namespace perceptron

namespace kernel_values {
inline constexpr ChoiceAttribute<SvmKernel> kernel{{"kernel", true}, kSvmKernelWords};
inline constexpr RealAttribute gamma{{"gamma", false}, 1};
inline constexpr RealAttribute coef0{{"coef0", false}, 0};
inline constexpr RealAttribute degree{{"degree", false}, 1};
inline constexpr RealsAttribute vectors{{"vectors", true}};
inline constexpr IntegerAttribute count{{"count", true}};
inline constexpr Attribute kAttributes[] = {{"kernel", true}, {"gamma", false}, {"coef0", false}, {"degree", false}, {"vectors", true}, {"count", true}};
inline constexpr KindRule kind{"kernel_values", kAttributes};
}  // namespace kernel_values

namespace pairwise_coupling {
inline constexpr IntegerAttribute classes{{"classes", true}};
inline constexpr RealsAttribute slopes{{"slopes", true}};
inline constexpr RealsAttribute offsets{{"offsets", true}};
inline constexpr Attribute kAttributes[] = {{"classes", true}, {"slopes", true}, {"offsets", true}};
inline constexpr KindRule kind{"pairwise_coupling", kAttributes};
}  // namespace pairwise_coupling

namespace nearest_rows {
inline constexpr ChoiceAttribute<NeighborMetric> metric{{"metric", true}, kNeighborMetricWords};
inline constexpr RealAttribute p{{"p", false}, 2};
inline constexpr RealsAttribute rows{{"rows", true}};
inline constexpr RealsAttribute values{{"values", true}};
inline constexpr IntegerAttribute count{{"count", true}};
inline constexpr IntegerAttribute neighbors{{"neighbors", true}};
inline constexpr FlagAttribute by_distance{{"by_distance", false}};
inline constexpr Attribute kAttributes[] = {{"metric", true}, {"p", false}, {"rows", true}, {"values", true}, {"count", true}, {"neighbors", true}, {"by_distance", false}};
inline constexpr KindRule kind{"nearest_rows", kAttributes};
}  // namespace nearest_rows

namespace k_means {
using namespace centers;
inline constexpr IntegerAttribute k{{"k", true}};
inline constexpr Attribute kAttributes[] = {{"centers", true}, {"distance", true}, {"k", true}};
inline constexpr KindRule kind{"k_means", kAttributes};
}  // namespace k_means

namespace bisecting_k_means {
using namespace centers;
inline constexpr IntegersAttribute firsts{{"firsts", true}};
inline constexpr IntegersAttribute counts{{"counts", true}};
inline constexpr IntegersAttribute indices{{"indices", true}};
inline constexpr Attribute kAttributes[] = {{"centers", true}, {"distance", true}, {"firsts", true}, {"counts", true}, {"indices", true}};
inline constexpr KindRule kind{"bisecting_k_means", kAttributes};
}  // namespace bisecting_k_means

namespace gaussian_mixture {
inline constexpr RealsAttribute weights{{"weights", true}};
inline constexpr RealsAttribute means{{"means", true}};
inline constexpr RealsAttribute roots{{"roots", true}};
inline constexpr RealsAttribute constants{{"constants", true}};
inline constexpr ChoicesAttribute<ProbabilityRole> roles{{"roles", true}, kProbabilityRoleWords};
inline constexpr Attribute kAttributes[] = {{"weights", true}, {"means", true}, {"roots", true}, {"constants", true}, {"roles", true}};
inline constexpr KindRule kind{"gaussian_mixture", kAttributes};
}  // namespace gaussian_mixture

namespace als {
inline constexpr IntegerAttribute rank{{"rank", true}};
inline constexpr IntegersAttribute userIds{{"userIds", true}};
inline constexpr RealsAttribute userFactors{{"userFactors", true}};
inline constexpr IntegersAttribute itemIds{{"itemIds", true}};
inline constexpr RealsAttribute itemFactors{{"itemFactors", true}};
inline constexpr FlagAttribute drop{{"drop", false}};
inline constexpr Attribute kAttributes[] = {{"rank", true}, {"userIds", true}, {"userFactors", true}, {"itemIds", true}, {"itemFactors", true}, {"drop", false}};
inline constexpr KindRule kind{"als", kAttributes};
}  // namespace als

namespace fp_growth {
inline constexpr TextsAttribute antecedents{{"antecedents", true}};
inline constexpr IntegersAttribute counts{{"counts", true}};
inline constexpr TextsAttribute consequents{{"consequents", true}};
inline constexpr Attribute kAttributes[] = {{"antecedents", true}, {"counts", true}, {"consequents", true}};
inline constexpr KindRule kind{"fp_growth", kAttributes};
}  // namespace fp_growth

namespace lda {
inline constexpr RealsAttribute start{{"start", true}};
inline constexpr RealsAttribute concentration{{"concentration", true}};
inline constexpr RealsAttribute words{{"words", true}};
inline constexpr Attribute kAttributes[] = {{"start", true}, {"concentration", true}, {"words", true}};
inline constexpr KindRule kind{"lda", kAttributes};
}  // namespace lda

namespace pmml_field {
inline constexpr TextAttribute field{{"field", true}};
inline constexpr ValuesAttribute valid{{"valid", false}};
inline constexpr ValuesAttribute invalid_values{{"invalid_values", false}};
inline constexpr ValuesAttribute missing_values{{"missing_values", false}};
inline constexpr RealsAttribute intervals{{"intervals", false}};
inline constexpr ValuesAttribute missing_value{{"missing_value", false}};
inline constexpr ValuesAttribute invalid_value{{"invalid_value", false}};
inline constexpr FlagAttribute refuse_missing{{"refuse_missing", false}};
inline constexpr ChoiceAttribute<InvalidValues> invalid{{"invalid", false}, kInvalidValuesWords, InvalidValues::Refuse};
inline constexpr ChoiceAttribute<Outliers> outliers{{"outliers", false}, kOutliersWords, Outliers::AsIs};
inline constexpr RealAttribute low{{"low", false}, 0};
inline constexpr RealAttribute high{{"high", false}, 0};
inline constexpr Attribute kAttributes[] = {{"field", true}, {"valid", false}, {"invalid_values", false}, {"missing_values", false}, {"intervals", false}, {"missing_value", false}, {"invalid_value", false}, {"refuse_missing", false}, {"invalid", false}, {"outliers", false}, {"low", false}, {"high", false}};
inline constexpr KindRule kind{"pmml.field", kAttributes};
}  // namespace pmml_field

namespace pmml_norm_continuous {
using namespace pmml_table;
inline constexpr RealsAttribute orig{{"orig", true}};
inline constexpr RealsAttribute norm{{"norm", true}};
inline constexpr ChoiceAttribute<Outliers> outliers{{"outliers", false}, kOutliersWords, Outliers::AsIs};
inline constexpr Attribute kAttributes[] = {{"map_missing", false}, {"orig", true}, {"norm", true}, {"outliers", false}};
inline constexpr KindRule kind{"pmml.norm_continuous", kAttributes};
}  // namespace pmml_norm_continuous

namespace pmml_norm_discrete {
using namespace pmml_table;
inline constexpr ValuesAttribute value{{"value", true}};
inline constexpr Attribute kAttributes[] = {{"map_missing", false}, {"value", true}};
inline constexpr KindRule kind{"pmml.norm_discrete", kAttributes};
}  // namespace pmml_norm_discrete

namespace pmml_discretize {
using namespace pmml_table;
inline constexpr RealsAttribute intervals{{"intervals", true}};
inline constexpr ValuesAttribute results{{"results", true}};
inline constexpr ValuesAttribute otherwise{{"otherwise", false}};
inline constexpr Attribute kAttributes[] = {{"map_missing", false}, {"intervals", true}, {"results", true}, {"otherwise", false}};
inline constexpr KindRule kind{"pmml.discretize", kAttributes};
}  // namespace pmml_discretize

namespace pmml_map_values {
using namespace pmml_table;
inline constexpr ValuesAttribute keys{{"keys", true}};
inline constexpr ValuesAttribute results{{"results", true}};
inline constexpr ValuesAttribute otherwise{{"otherwise", false}};
inline constexpr Attribute kAttributes[] = {{"map_missing", false}, {"keys", true}, {"results", true}, {"otherwise", false}};
inline constexpr KindRule kind{"pmml.map_values", kAttributes};
}  // namespace pmml_map_values

namespace pmml_text_index {
inline constexpr ChoiceAttribute<TermWeights> weights{{"weights", true}, kTermWeightsWords};
inline constexpr FlagAttribute best_hits{{"best_hits", false}};
inline constexpr FlagAttribute case_sensitive{{"case_sensitive", false}};
inline constexpr FlagAttribute tokenize{{"tokenize", false}};
inline constexpr IntegerAttribute distance{{"distance", true}};
inline constexpr TextAttribute word{{"word", false}, ""};
inline constexpr TextAttribute separator{{"separator", true}};
inline constexpr TextsAttribute rule_patterns{{"rule_patterns", false}};
inline constexpr TextsAttribute rule_replacements{{"rule_replacements", false}};
inline constexpr IntegersAttribute rule_rows{{"rule_rows", false}};
inline constexpr IntegersAttribute rule_recursive{{"rule_recursive", false}};
inline constexpr Attribute kAttributes[] = {{"weights", true}, {"best_hits", false}, {"case_sensitive", false}, {"tokenize", false}, {"distance", true}, {"word", false}, {"separator", true}, {"rule_patterns", false}, {"rule_replacements", false}, {"rule_rows", false}, {"rule_recursive", false}};
inline constexpr KindRule kind{"pmml.text_index", kAttributes};
}  // namespace pmml_text_index

namespace pmml_aggregate {
inline constexpr ChoiceAttribute<AggregateFunction> function{{"function", true}, kAggregateFunctionWords};
inline constexpr Attribute kAttributes[] = {{"function", true}};
inline constexpr KindRule kind{"pmml.aggregate", kAttributes};
}  // namespace pmml_aggregate

namespace pmml_vector {
inline constexpr KindRule kind{"pmml.vector", {}};
}  // namespace pmml_vector

namespace pmml_classify {
inline constexpr ValuesAttribute labels{{"labels", true}};
inline constexpr Attribute kAttributes[] = {{"labels", true}};
inline constexpr KindRule kind{"pmml.classify", kAttributes};
}  // namespace pmml_classify

namespace pmml_pick {
inline constexpr IntegersAttribute index{{"index", false}};
inline constexpr ValuesAttribute labels{{"labels", false}};
inline constexpr Attribute kAttributes[] = {{"index", false}, {"labels", false}};
inline constexpr KindRule kind{"pmml.pick", kAttributes};
}  // namespace pmml_pick

namespace pmml_ranked {
inline constexpr TextsAttribute labels{{"labels", false}};
inline constexpr IntegerAttribute rank{{"rank", true}};
inline constexpr FlagAttribute largest{{"largest", false}};
inline constexpr Attribute kAttributes[] = {{"labels", false}, {"rank", true}, {"largest", false}};
inline constexpr KindRule kind{"pmml.ranked", kAttributes};
}  // namespace pmml_ranked

namespace pmml_element {
inline constexpr IntegerAttribute rank{{"rank", true}};
inline constexpr Attribute kAttributes[] = {{"rank", true}};
inline constexpr KindRule kind{"pmml.element", kAttributes};
}  // namespace pmml_element

namespace pmml_tree {
inline constexpr IntegersAttribute first_child{{"first_child", true}};
inline constexpr IntegersAttribute next_sibling{{"next_sibling", true}};
inline constexpr IntegersAttribute input{{"input", true}};
inline constexpr IntegersAttribute test{{"test", true}};
inline constexpr RealsAttribute number{{"number", true}};
inline constexpr IntegersAttribute scored{{"scored", true}};
inline constexpr TextsAttribute texts{{"texts", false}};
inline constexpr IntegersAttribute text_offsets{{"text_offsets", false}};
inline constexpr TextsAttribute set_texts{{"set_texts", false}};
inline constexpr IntegersAttribute real_offsets{{"real_offsets", false}};
inline constexpr RealsAttribute set_reals{{"set_reals", false}};
inline constexpr ExpressionsAttribute expressions{{"expressions", false}};
inline constexpr IntegersAttribute surrogate_offsets{{"surrogate_offsets", false}};
inline constexpr IntegersAttribute default_child{{"default_child", false}};
inline constexpr ChoiceAttribute<TreeMissing> on_missing{{"on_missing", false}, kTreeMissingWords, TreeMissing::None};
inline constexpr FlagAttribute no_child_last{{"no_child_last", false}};
inline constexpr IntegersAttribute answers{{"answers", false}};
inline constexpr RealsAttribute counts{{"counts", false}};
inline constexpr RealsAttribute scores{{"scores", false}};
inline constexpr RealsAttribute blended{{"blended", false}};
inline constexpr RealsAttribute blended_scores{{"blended_scores", false}};
inline constexpr IntegerAttribute width{{"width", false}, 0};
inline constexpr RealAttribute penalty{{"penalty", false}, 1};
inline constexpr Attribute kAttributes[] = {{"first_child", true}, {"next_sibling", true}, {"input", true}, {"test", true}, {"number", true}, {"scored", true}, {"texts", false}, {"text_offsets", false}, {"set_texts", false}, {"real_offsets", false}, {"set_reals", false}, {"expressions", false}, {"surrogate_offsets", false}, {"default_child", false}, {"on_missing", false}, {"no_child_last", false}, {"answers", false}, {"counts", false}, {"scores", false}, {"blended", false}, {"blended_scores", false}, {"width", false}, {"penalty", false}};
inline constexpr KindRule kind{"pmml.tree", kAttributes};
}  // namespace pmml_tree

namespace pmml_segment {
inline constexpr ExpressionsAttribute predicate{{"predicate", true}};
inline constexpr BlocksAttribute block{{"block", true}};
inline constexpr Attribute kAttributes[] = {{"predicate", true}, {"block", true}};
inline constexpr KindRule kind{"pmml.segment", kAttributes};
}  // namespace pmml_segment

namespace pmml_choose {
inline constexpr FlagAttribute last{{"last", false}};
inline constexpr FlagAttribute only{{"only", false}};
inline constexpr IntegersAttribute column_of{{"column_of", true}};
inline constexpr IntegersAttribute maps{{"maps", false}};
inline constexpr IntegerAttribute width{{"width", false}, 0};
inline constexpr TextsAttribute refused{{"refused", true}};
inline constexpr Attribute kAttributes[] = {{"last", false}, {"only", false}, {"column_of", true}, {"maps", false}, {"width", false}, {"refused", true}};
inline constexpr KindRule kind{"pmml.choose", kAttributes};
}  // namespace pmml_choose

namespace pmml_combine {
using namespace pmml_ensemble;
inline constexpr FlagAttribute single{{"single", false}};
inline constexpr Attribute kAttributes[] = {{"method", true}, {"weights", true}, {"mask_of", true}, {"weight_of", true}, {"on_missing", false}, {"threshold", false}, {"single", false}};
inline constexpr KindRule kind{"pmml.combine", kAttributes};
}  // namespace pmml_combine

namespace pmml_vote {
using namespace pmml_ensemble;
inline constexpr ValuesAttribute labels{{"labels", true}};
inline constexpr Attribute kAttributes[] = {{"method", true}, {"weights", true}, {"mask_of", true}, {"weight_of", true}, {"on_missing", false}, {"threshold", false}, {"labels", true}};
inline constexpr KindRule kind{"pmml.vote", kAttributes};
}  // namespace pmml_vote

namespace pmml_blend {
using namespace pmml_ensemble;
inline constexpr IntegersAttribute maps{{"maps", true}};
inline constexpr IntegersAttribute order{{"order", true}};
inline constexpr IntegerAttribute width{{"width", true}};
inline constexpr Attribute kAttributes[] = {{"method", true}, {"weights", true}, {"mask_of", true}, {"weight_of", true}, {"on_missing", false}, {"threshold", false}, {"maps", true}, {"order", true}, {"width", true}};
inline constexpr KindRule kind{"pmml.blend", kAttributes};
}  // namespace pmml_blend

namespace pmml_leaf_votes {
inline constexpr IntegersAttribute label_of{{"label_of", true}};
inline constexpr RealsAttribute weights{{"weights", true}};
inline constexpr ValuesAttribute labels{{"labels", true}};
inline constexpr Attribute kAttributes[] = {{"label_of", true}, {"weights", true}, {"labels", true}};
inline constexpr KindRule kind{"pmml.leaf_votes", kAttributes};
}  // namespace pmml_leaf_votes

namespace pmml_collect {
inline constexpr KindRule kind{"pmml.collect", {}};
}  // namespace pmml_collect

namespace pmml_rules {
inline constexpr ExpressionsAttribute predicates{{"predicates", true}};
inline constexpr IntegersAttribute label_of{{"label_of", true}};
inline constexpr RealsAttribute weights{{"weights", true}};
inline constexpr RealsAttribute confidences{{"confidences", true}};
inline constexpr TextsAttribute ids{{"ids", true}};
inline constexpr ValuesAttribute labels{{"labels", true}};
inline constexpr IntegerAttribute default_label{{"default_label", false}, -1};
inline constexpr RealAttribute default_confidence{{"default_confidence", false}};
inline constexpr ChoiceAttribute<RulesMethod> method{{"method", true}, kRulesMethodWords};
inline constexpr Attribute kAttributes[] = {{"predicates", true}, {"label_of", true}, {"weights", true}, {"confidences", true}, {"ids", true}, {"labels", true}, {"default_label", false}, {"default_confidence", false}, {"method", true}};
inline constexpr KindRule kind{"pmml.rules", kAttributes};
}  // namespace pmml_rules

namespace pmml_scorecard {
inline constexpr IntegersAttribute offsets{{"offsets", true}};
inline constexpr ExpressionsAttribute predicates{{"predicates", true}};
inline constexpr RealsAttribute partial{{"partial", true}};
inline constexpr IntegersAttribute complex_of{{"complex_of", true}};
inline constexpr ExpressionsAttribute complex{{"complex", false}};
inline constexpr TextsAttribute reasons{{"reasons", false}};
inline constexpr RealsAttribute baselines{{"baselines", false}};
inline constexpr RealAttribute initial{{"initial", false}, 0};
inline constexpr FlagAttribute points_above{{"points_above", false}};
inline constexpr Attribute kAttributes[] = {{"offsets", true}, {"predicates", true}, {"partial", true}, {"complex_of", true}, {"complex", false}, {"reasons", false}, {"baselines", false}, {"initial", false}, {"points_above", false}};
inline constexpr KindRule kind{"pmml.scorecard", kAttributes};
}  // namespace pmml_scorecard

namespace pmml_anomaly {
inline constexpr ChoiceAttribute<AnomalyAlgorithm> algorithm{{"algorithm", true}, kAnomalyAlgorithmWords};
inline constexpr RealAttribute sample_size{{"sample_size", false}};
inline constexpr RealsAttribute means{{"means", false}};
inline constexpr Attribute kAttributes[] = {{"algorithm", true}, {"sample_size", false}, {"means", false}};
inline constexpr KindRule kind{"pmml.anomaly", kAttributes};
}  // namespace pmml_anomaly

namespace pmml_association {
inline constexpr FlagAttribute list{{"list", false}};
inline constexpr ChoicesAttribute<AssociationAlgorithm> algorithms{{"algorithms", true}, kAssociationAlgorithmWords};
inline constexpr IntegerAttribute items{{"items", true}};
inline constexpr IntegersAttribute pair_items{{"pair_items", true}};
inline constexpr IntegersAttribute pair_inputs{{"pair_inputs", true}};
inline constexpr ValuesAttribute pair_values{{"pair_values", true}};
inline constexpr IntegersAttribute flag_inputs{{"flag_inputs", true}};
inline constexpr IntegersAttribute set_rows{{"set_rows", true}};
inline constexpr IntegersAttribute set_items{{"set_items", true}};
inline constexpr IntegersAttribute antecedents{{"antecedents", true}};
inline constexpr IntegersAttribute consequents{{"consequents", true}};
inline constexpr Attribute kAttributes[] = {{"list", false}, {"algorithms", true}, {"items", true}, {"pair_items", true}, {"pair_inputs", true}, {"pair_values", true}, {"flag_inputs", true}, {"set_rows", true}, {"set_items", true}, {"antecedents", true}, {"consequents", true}};
inline constexpr KindRule kind{"pmml.association", kAttributes};
}  // namespace pmml_association

namespace pmml_rule_value {
inline constexpr FlagAttribute many{{"many", false}};
inline constexpr RealsAttribute numbers{{"numbers", false}};
inline constexpr TextsAttribute texts{{"texts", false}};
inline constexpr IntegersAttribute text_rows{{"text_rows", false}};
inline constexpr IntegerAttribute rank{{"rank", true}};
inline constexpr RealsAttribute keys{{"keys", true}};
inline constexpr FlagAttribute descending{{"descending", false}};
inline constexpr Attribute kAttributes[] = {{"many", false}, {"numbers", false}, {"texts", false}, {"text_rows", false}, {"rank", true}, {"keys", true}, {"descending", false}};
inline constexpr KindRule kind{"pmml.rule_value", kAttributes};
}  // namespace pmml_rule_value

namespace pmml_clustering {
using namespace pmml_comparison;
inline constexpr TextsAttribute ids{{"ids", true}};
inline constexpr TextsAttribute names{{"names", false}};
inline constexpr RealsAttribute centers{{"centers", true}};
inline constexpr Attribute kAttributes[] = {{"measure", true}, {"minkowski_p", false}, {"binary_parameters", false}, {"compare", true}, {"field_weights", true}, {"similarity_scales", true}, {"missing_weights", true}, {"ids", true}, {"names", false}, {"centers", true}};
inline constexpr KindRule kind{"pmml.clustering", kAttributes};
}  // namespace pmml_clustering

namespace pmml_gaussian_process {
inline constexpr ChoiceAttribute<GaussianKernel> kernel{{"kernel", true}, kGaussianKernelWords};
inline constexpr RealsAttribute instances{{"instances", true}};
inline constexpr RealsAttribute targets{{"targets", true}};
inline constexpr RealsAttribute lambdas{{"lambdas", true}};
inline constexpr RealAttribute gamma{{"gamma", true}};
inline constexpr RealAttribute noise_variance{{"noise_variance", true}};
inline constexpr RealAttribute degree{{"degree", false}, 1};
inline constexpr Attribute kAttributes[] = {{"kernel", true}, {"instances", true}, {"targets", true}, {"lambdas", true}, {"gamma", true}, {"noise_variance", true}, {"degree", false}};
inline constexpr KindRule kind{"pmml.gaussian_process", kAttributes};
}  // namespace pmml_gaussian_process

namespace pmml_general_regression {
inline constexpr ChoiceAttribute<RegressionModel> model{{"model", true}, kRegressionModelWords};
inline constexpr FlagAttribute classification{{"classification", false}};
inline constexpr ChoiceAttribute<PmmlLink> link{{"link", false}, kPmmlLinkWords, PmmlLink::Identity};
inline constexpr RealAttribute link_parameter{{"link_parameter", false}, 0};
inline constexpr RealAttribute offset_value{{"offset_value", false}, 0};
inline constexpr IntegerAttribute offset_input{{"offset_input", false}, -1};
inline constexpr RealAttribute trials_value{{"trials_value", false}, 1};
inline constexpr IntegerAttribute trials_input{{"trials_input", false}, -1};
inline constexpr IntegersAttribute factor_rows{{"factor_rows", true}};
inline constexpr IntegersAttribute factor_inputs{{"factor_inputs", true}};
inline constexpr ValuesAttribute factor_values{{"factor_values", true}};
inline constexpr IntegersAttribute factor_contrasts{{"factor_contrasts", true}};
inline constexpr IntegersAttribute contrast_rows{{"contrast_rows", true}};
inline constexpr ValuesAttribute contrast_values{{"contrast_values", true}};
inline constexpr RealsAttribute contrast_numbers{{"contrast_numbers", true}};
inline constexpr IntegersAttribute covariate_rows{{"covariate_rows", true}};
inline constexpr IntegersAttribute covariate_inputs{{"covariate_inputs", true}};
inline constexpr RealsAttribute covariate_exponents{{"covariate_exponents", true}};
inline constexpr IntegersAttribute equation_rows{{"equation_rows", true}};
inline constexpr IntegersAttribute equation_designs{{"equation_designs", true}};
inline constexpr RealsAttribute equation_betas{{"equation_betas", true}};
inline constexpr RealAttribute reference{{"reference", false}, 0};
inline constexpr IntegerAttribute time_input{{"time_input", false}, -1};
inline constexpr IntegerAttribute stratum_input{{"stratum_input", false}, -1};
inline constexpr ValuesAttribute baseline_strata{{"baseline_strata", false}};
inline constexpr IntegersAttribute baseline_rows{{"baseline_rows", false}};
inline constexpr RealsAttribute baseline_times{{"baseline_times", false}};
inline constexpr RealsAttribute baseline_hazards{{"baseline_hazards", false}};
inline constexpr RealsAttribute baseline_max_times{{"baseline_max_times", false}};
inline constexpr Attribute kAttributes[] = {{"model", true}, {"classification", false}, {"link", false}, {"link_parameter", false}, {"offset_value", false}, {"offset_input", false}, {"trials_value", false}, {"trials_input", false}, {"factor_rows", true}, {"factor_inputs", true}, {"factor_values", true}, {"factor_contrasts", true}, {"contrast_rows", true}, {"contrast_values", true}, {"contrast_numbers", true}, {"covariate_rows", true}, {"covariate_inputs", true}, {"covariate_exponents", true}, {"equation_rows", true}, {"equation_designs", true}, {"equation_betas", true}, {"reference", false}, {"time_input", false}, {"stratum_input", false}, {"baseline_strata", false}, {"baseline_rows", false}, {"baseline_times", false}, {"baseline_hazards", false}, {"baseline_max_times", false}};
inline constexpr KindRule kind{"pmml.general_regression", kAttributes};
}  // namespace pmml_general_regression

namespace pmml_naive_bayes {
inline constexpr RealAttribute threshold{{"threshold", true}};
inline constexpr RealsAttribute prior_counts{{"prior_counts", true}};
inline constexpr IntegersAttribute continuous{{"continuous", true}};
inline constexpr IntegersAttribute distributions{{"distributions", true}};
inline constexpr RealsAttribute means{{"means", true}};
inline constexpr RealsAttribute variances{{"variances", true}};
inline constexpr IntegersAttribute pair_rows{{"pair_rows", true}};
inline constexpr ValuesAttribute pair_values{{"pair_values", true}};
inline constexpr RealsAttribute pair_counts{{"pair_counts", true}};
inline constexpr Attribute kAttributes[] = {{"threshold", true}, {"prior_counts", true}, {"continuous", true}, {"distributions", true}, {"means", true}, {"variances", true}, {"pair_rows", true}, {"pair_values", true}, {"pair_counts", true}};
inline constexpr KindRule kind{"pmml.naive_bayes", kAttributes};
}  // namespace pmml_naive_bayes

namespace pmml_nearest_neighbor {
using namespace pmml_comparison;
inline constexpr RealsAttribute instances{{"instances", true}};
inline constexpr IntegersAttribute text_fields{{"text_fields", true}};
inline constexpr TextsAttribute categories{{"categories", true}};
inline constexpr IntegerAttribute neighbors{{"neighbors", true}};
inline constexpr RealAttribute threshold{{"threshold", false}, 0.001};
inline constexpr ChoicesAttribute<Scoring> target_scorings{{"target_scorings", true}, kScoringWords};
inline constexpr RealsAttribute target_numbers{{"target_numbers", true}};
inline constexpr ValuesAttribute target_values{{"target_values", true}};
inline constexpr IntegersAttribute target_value_rows{{"target_value_rows", true}};
inline constexpr IntegerAttribute ranked{{"ranked", false}, 0};
inline constexpr TextsAttribute ids{{"ids", true}};
inline constexpr BlocksAttribute derive{{"derive", false}};
inline constexpr IntegersAttribute given_columns{{"given_columns", false}};
inline constexpr ValuesAttribute given_values{{"given_values", false}};
inline constexpr IntegersAttribute derived_inputs{{"derived_inputs", false}};
inline constexpr IntegersAttribute derived_columns{{"derived_columns", false}};
inline constexpr Attribute kAttributes[] = {{"measure", true}, {"minkowski_p", false}, {"binary_parameters", false}, {"compare", true}, {"field_weights", true}, {"similarity_scales", true}, {"missing_weights", true}, {"instances", true}, {"text_fields", true}, {"categories", true}, {"neighbors", true}, {"threshold", false}, {"target_scorings", true}, {"target_numbers", true}, {"target_values", true}, {"target_value_rows", true}, {"ranked", false}, {"ids", true}, {"derive", false}, {"given_columns", false}, {"given_values", false}, {"derived_inputs", false}, {"derived_columns", false}};
inline constexpr KindRule kind{"pmml.nearest_neighbor", kAttributes};
}  // namespace pmml_nearest_neighbor

namespace pmml_neural_network {
inline constexpr FlagAttribute classification{{"classification", false}};
inline constexpr IntegersAttribute layer_rows{{"layer_rows", true}};
inline constexpr ChoicesAttribute<Activation> activations{{"activations", true}, kActivationWords};
inline constexpr ChoicesAttribute<LayerNormalization> normalizations{{"normalizations", true}, kLayerNormalizationWords};
inline constexpr RealsAttribute thresholds{{"thresholds", true}};
inline constexpr RealsAttribute leakages{{"leakages", false}};
inline constexpr RealsAttribute biases{{"biases", true}};
inline constexpr RealsAttribute widths{{"widths", true}};
inline constexpr RealsAttribute altitudes{{"altitudes", true}};
inline constexpr IntegersAttribute connection_rows{{"connection_rows", true}};
inline constexpr IntegersAttribute connection_sources{{"connection_sources", true}};
inline constexpr RealsAttribute connection_weights{{"connection_weights", true}};
inline constexpr IntegersAttribute output_neurons{{"output_neurons", true}};
inline constexpr IntegersAttribute output_rows{{"output_rows", false}};
inline constexpr RealsAttribute output_norms{{"output_norms", false}};
inline constexpr RealsAttribute output_origs{{"output_origs", false}};
inline constexpr Attribute kAttributes[] = {{"classification", false}, {"layer_rows", true}, {"activations", true}, {"normalizations", true}, {"thresholds", true}, {"leakages", false}, {"biases", true}, {"widths", true}, {"altitudes", true}, {"connection_rows", true}, {"connection_sources", true}, {"connection_weights", true}, {"output_neurons", true}, {"output_rows", false}, {"output_norms", false}, {"output_origs", false}};
inline constexpr KindRule kind{"pmml.neural_network", kAttributes};
}  // namespace pmml_neural_network

namespace pmml_regression {
inline constexpr FlagAttribute classification{{"classification", false}};
inline constexpr FlagAttribute ordinal{{"ordinal", false}};
inline constexpr FlagAttribute single{{"single", false}};
inline constexpr ChoiceAttribute<RegressionNormalization> normalization{{"normalization", false}, kRegressionNormalizationWords, RegressionNormalization::None};
inline constexpr RealsAttribute intercepts{{"intercepts", true}};
inline constexpr IntegersAttribute numeric_rows{{"numeric_rows", true}};
inline constexpr IntegersAttribute numeric_inputs{{"numeric_inputs", true}};
inline constexpr RealsAttribute numeric_exponents{{"numeric_exponents", true}};
inline constexpr RealsAttribute numeric_coefficients{{"numeric_coefficients", true}};
inline constexpr IntegersAttribute category_rows{{"category_rows", true}};
inline constexpr IntegersAttribute category_inputs{{"category_inputs", true}};
inline constexpr ValuesAttribute category_values{{"category_values", true}};
inline constexpr RealsAttribute category_coefficients{{"category_coefficients", true}};
inline constexpr IntegersAttribute product_rows{{"product_rows", true}};
inline constexpr RealsAttribute product_coefficients{{"product_coefficients", true}};
inline constexpr IntegersAttribute product_parts{{"product_parts", true}};
inline constexpr IntegersAttribute product_inputs{{"product_inputs", true}};
inline constexpr Attribute kAttributes[] = {{"classification", false}, {"ordinal", false}, {"single", false}, {"normalization", false}, {"intercepts", true}, {"numeric_rows", true}, {"numeric_inputs", true}, {"numeric_exponents", true}, {"numeric_coefficients", true}, {"category_rows", true}, {"category_inputs", true}, {"category_values", true}, {"category_coefficients", true}, {"product_rows", true}, {"product_coefficients", true}, {"product_parts", true}, {"product_inputs", true}};
inline constexpr KindRule kind{"pmml.regression", kAttributes};
}  // namespace pmml_regression

namespace pmml_support_vectors {
inline constexpr ChoiceAttribute<SvmKernel> kernel{{"kernel", true}, kSvmKernelWords};
inline constexpr RealAttribute gamma{{"gamma", false}, 1};
inline constexpr RealAttribute coef0{{"coef0", false}, 1};
inline constexpr RealAttribute degree{{"degree", false}, 1};
inline constexpr ChoiceAttribute<SvmMethod> method{{"method", true}, kSvmMethodWords};
inline constexpr ValuesAttribute labels{{"labels", false}};
inline constexpr FlagAttribute rounded{{"rounded", false}};
inline constexpr FlagAttribute max_wins{{"max_wins", false}};
inline constexpr IntegersAttribute vector_inputs{{"vector_inputs", true}};
inline constexpr ValuesAttribute vector_values{{"vector_values", true}};
inline constexpr RealsAttribute vectors{{"vectors", true}};
inline constexpr IntegersAttribute machine_rows{{"machine_rows", true}};
inline constexpr IntegersAttribute machine_vectors{{"machine_vectors", true}};
inline constexpr RealsAttribute machine_coefficients{{"machine_coefficients", true}};
inline constexpr RealsAttribute machine_intercepts{{"machine_intercepts", true}};
inline constexpr IntegersAttribute machine_targets{{"machine_targets", false}};
inline constexpr IntegersAttribute machine_alternates{{"machine_alternates", false}};
inline constexpr RealsAttribute machine_thresholds{{"machine_thresholds", false}};
inline constexpr Attribute kAttributes[] = {{"kernel", true}, {"gamma", false}, {"coef0", false}, {"degree", false}, {"method", true}, {"labels", false}, {"rounded", false}, {"max_wins", false}, {"vector_inputs", true}, {"vector_values", true}, {"vectors", true}, {"machine_rows", true}, {"machine_vectors", true}, {"machine_coefficients", true}, {"machine_intercepts", true}, {"machine_targets", false}, {"machine_alternates", false}, {"machine_thresholds", false}};
inline constexpr KindRule kind{"pmml.support_vectors", kAttributes};
}  // namespace pmml_support_vectors

inline constexpr const KindRule* kAll[] = {&derive::kind, &pick::kind, &forest::kind, &forest_shap::kind, &forest_trees::kind, &linear_shap::kind, &explained_sum::kind, &string_indexer::kind, &index_to_string::kind, &string_map::kind, &regex_indexer::kind, &number_map::kind, &bucketizer::kind, &binarizer::kind, &imputer::kind, &coalesce::kind, &math_unary::kind, &math_binary::kind, &one_hot::kind, &vector_assembler::kind, &vector_slicer::kind, &vector_element::kind, &vector_size_hint::kind, &vector_indexer::kind, &interaction::kind, &polynomial_expansion::kind, &feature_products::kind, &dct::kind, &pca::kind, &random_projection_lsh::kind, &min_hash_lsh::kind, &scale::kind, &min_max_scaler::kind, &normalizer::kind, &tokenizer::kind, &regex_tokenizer::kind, &stop_words::kind, &ngram::kind, &word_filter::kind, &hashing_tf::kind, &count_vectorizer::kind, &word2vec::kind, &feature_hasher::kind, &classify::kind, &one_vs_rest::kind, &greatest::kind, &multinomial_labeler::kind, &linear_scores::kind, &linear_regression::kind, &glm::kind, &aft::kind, &isotonic::kind, &factorization_machine::kind, &gaussian_bayes::kind, &perceptron::kind, &kernel_values::kind, &pairwise_coupling::kind, &nearest_rows::kind, &k_means::kind, &bisecting_k_means::kind, &gaussian_mixture::kind, &als::kind, &fp_growth::kind, &lda::kind, &pmml_field::kind, &pmml_norm_continuous::kind, &pmml_norm_discrete::kind, &pmml_discretize::kind, &pmml_map_values::kind, &pmml_text_index::kind, &pmml_aggregate::kind, &pmml_vector::kind, &pmml_classify::kind, &pmml_pick::kind, &pmml_ranked::kind, &pmml_element::kind, &pmml_tree::kind, &pmml_segment::kind, &pmml_choose::kind, &pmml_combine::kind, &pmml_vote::kind, &pmml_blend::kind, &pmml_leaf_votes::kind, &pmml_collect::kind, &pmml_rules::kind, &pmml_scorecard::kind, &pmml_anomaly::kind, &pmml_association::kind, &pmml_rule_value::kind, &pmml_clustering::kind, &pmml_gaussian_process::kind, &pmml_general_regression::kind, &pmml_naive_bayes::kind, &pmml_nearest_neighbor::kind, &pmml_neural_network::kind, &pmml_regression::kind, &pmml_support_vectors::kind};

}  // namespace serval::tabular::stages
