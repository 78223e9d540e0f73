// The quick starts with files that the libraries of trees save themselves.
import { describeQuickStarts } from './quick-starts.js';

describeQuickStarts(['xgboost', 'lightgbm']);
