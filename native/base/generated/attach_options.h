// Generated from proto/attach-options.mjs by proto/generate.mjs.
#pragma once

namespace serval {

// Calls visit(name, member) for every option of attach().
template <typename Engine, typename Serve, typename Thread, typename Visit>
void each_attach_option(Engine& engine, Serve& serve, Thread& thread, Visit visit) {
  visit("onnxruntimeLibrary", engine.onnxruntime_library);
  visit("intraOpThreads", engine.intra_op_threads);
  visit("loadThreads", engine.load_threads);
  visit("unloadMsMax", engine.unload_ms_max);
  visit("memoryLimitBytes", engine.memory_limit);
  visit("pinnedPoolBytes", engine.pinned_pool_bytes);
  visit("isolateWaitMs", engine.isolate_wait_ms);
  visit("responseCacheBytes", engine.response_cache_bytes);
  visit("rateLimit", engine.rate_limit);
  visit("rateLimitResources", engine.rate_limit_resources);
  visit("metrics", engine.records);
  visit("latencyCounters", engine.latency_metrics.counters);
  visit("summaryQuantiles", engine.latency_metrics.summary_quantiles);
  visit("bodyBytesMax", serve.body_bytes_max);
  visit("inflatedBytesMax", serve.inflated_bytes_max);
  visit("responseBytesMax", serve.response_bytes_max);
  visit("jsonDepthMax", serve.json_depth_max);
  visit("inFlightMax", serve.in_flight_max);
  visit("restTimeoutUs", serve.rest_timeout_us);
  visit("tfTensorContent", serve.tf_tensor_content);
  visit("tfCheckMethod", serve.tf_check_method);
  visit("keepsProcess", thread.keeps_process);
}

}  // namespace serval
