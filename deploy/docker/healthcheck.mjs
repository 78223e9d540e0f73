// The image's health check: fails unless the server accepts inference requests. SERVAL_HEALTH_URL
// replaces the default URL, port 8000 of this container.
const url = process.env.SERVAL_HEALTH_URL ?? 'http://127.0.0.1:8000/v2/health/ready';
const answer = await fetch(url, { signal: AbortSignal.timeout(4000) }).catch((error) => error);
if (answer.ok !== true) {
  process.stderr.write(`${url}: ${answer.status ?? answer.cause?.message ?? answer.message}\n`);
  process.exitCode = 1;
}
