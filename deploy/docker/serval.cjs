#!/opt/serval/node/node
// The command `serval` in an image without a shell.
import('/opt/serval/bin/serval.mjs');
