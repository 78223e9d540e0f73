# A shim for node-gyp: the build itself is CMakeLists.txt, run by scripts/build-native.mjs. npm does
# not come here (package.json has an install script); `node-gyp rebuild` does.
{
  "targets": [
    {
      "target_name": "serval",
      "type": "none",
      "actions": [
        {
          "action_name": "cmake",
          "inputs": ["CMakeLists.txt"],
          "outputs": ["always-out-of-date"],
          "action": ["node", "scripts/build-native.mjs"]
        }
      ]
    }
  ]
}
