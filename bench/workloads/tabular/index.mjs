// The rows for tabular models: small requests, plans, a forest, a bundle, loading.
import { bundle } from './bundle.mjs';
import { forest } from './forest.mjs';
import { iris } from './iris.mjs';
import { loading } from './loading.mjs';
import { plans } from './plans.mjs';
import { trees } from './trees.mjs';

export const tabular = [...iris, ...plans, ...forest, ...bundle, ...loading, ...trees];
