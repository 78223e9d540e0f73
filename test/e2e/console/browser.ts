// Debian's Chromium without a window, driven by playwright-core, which ships no browser. Test time
// only.
import { accessSync, constants } from 'node:fs';
import { chromium, type Browser, type Page } from 'playwright-core';

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** Its path; undefined if it is not installed. */
export function chromiumFile(): string | undefined {
  return PLACES.find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** The limit of any wait: the machine is shared. */
export const LIMIT_MS = 60_000;

/** Unwanted behaviour of a page. */
export interface Watched {
  readonly page: Page;
  /** Errors of scripts, violations of the page's policy, log lines. */
  readonly problems: string[];
  /** Every requested address. */
  readonly requests: string[];
}

export function startBrowser(): Promise<Browser> {
  const executablePath = chromiumFile() ?? '';
  // Tests run as root in containers, where Chromium has no sandbox and little shared memory.
  const args = ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'];
  return chromium.launch({ executablePath, args, timeout: LIMIT_MS });
}

/** Opens a page in a new context. */
export async function openPage(
  browser: Browser,
  url: string,
  options: { readonly colorScheme?: 'light' | 'dark' } = {},
): Promise<Watched> {
  const viewport = { width: 1240, height: 760 };
  const context = await browser.newContext({ viewport, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(LIMIT_MS);
  const problems: string[] = [];
  const requests: string[] = [];
  page.on('console', (message) => {
    // Chromium logs each error response: the test checks those itself.
    if (!message.text().startsWith('Failed to load resource')) problems.push(message.text());
  });
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('request', (request) => requests.push(request.url()));
  await page.goto(url);
  return { page, problems, requests };
}
