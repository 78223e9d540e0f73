// The part of Node's Buffer that the console's page uses through code it shares with the server.
// Bundled into the page; runs in a browser.
export const Buffer = {
  from: (text) => ({
    toString: () => btoa(String.fromCharCode(...new TextEncoder().encode(text))),
  }),
};
