// The image's entry point. Accepts the command lines of other servers' images, too, so that a
// KServe runtime can use this image with its existing arguments. Needs no shell and becomes the
// server. SERVAL names another program than the one beside it (tests).
const OTHER_SERVERS = /^(?:tritonserver|(?:\/usr\/bin\/)?tensorflow_model_server)$/;
const OWN_FLAGS = new Set(['--version', '--help', '-v', '-h']);

/** Returns the arguments of `serval` for those of the container. Pure. */
function servalArguments(args) {
  const [first = 'serve', ...rest] = args;
  if (OTHER_SERVERS.test(first)) return ['serve', ...rest];
  if (OWN_FLAGS.has(first)) return args;
  return first.startsWith('-') ? ['serve', ...args] : [first, ...rest];
}

process.argv.splice(2, Infinity, ...servalArguments(process.argv.slice(2)));
await import(process.env.SERVAL ?? './serval.mjs');
