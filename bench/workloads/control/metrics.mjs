// The cost of recording metrics.
import { planV1, planV2 } from '../json-small.mjs';
import { onOff } from './on-off.mjs';

const OFF = '--allow-metrics=false';
const pair = (id, title, plan) => onOff({ id, title, reference: OFF, plan, off: [OFF] });

export const metrics = [
  pair('metrics-v1', 'metrics on, V1 JSON, 64 connections', planV1),
  pair('metrics-v2', 'metrics on, V2 JSON, 64 connections', planV2),
];
