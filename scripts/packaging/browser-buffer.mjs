// What of Node's Buffer the console's page uses by way of what it shares with the server. Put into
// the page's bundle; runs in a browser.
export const Buffer = {
  from: (text) => ({
    toString: () => btoa(String.fromCharCode(...new TextEncoder().encode(text))),
  }),
};
