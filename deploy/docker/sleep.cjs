#!/opt/serval/node/node
// /bin/sleep in an image without programs, for the preStop hooks of Kubernetes.
setTimeout(() => {}, 1000 * Number(process.argv[2]));
