// Debian's Chromium without a window, driven by playwright-core, which brings no browser of its
// own. Test time only.
import { accessSync, constants } from 'node:fs';
import { chromium, type Browser, type Page } from 'playwright-core';

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** Where it is; undefined: it is not here. */
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

/** How long anything may take: the machine is shared. */
export const LIMIT_MS = 60_000;

/** What a page did that it should not. */
export interface Watched {
  readonly page: Page;
  /** Errors of scripts, refusals by the page's policy, what was logged. */
  readonly problems: string[];
  /** Every address that was asked for. */
  readonly requests: string[];
}

export function startBrowser(): Promise<Browser> {
  const executablePath = chromiumFile() ?? '';
  // Tests run as root in containers, where Chromium has no sandbox and little shared memory.
  const args = ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'];
  return chromium.launch({ executablePath, args, timeout: LIMIT_MS });
}

/** A page in a context of its own. */
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
    // Chromium logs each answer that is an error: the test looks at those itself.
    if (!message.text().startsWith('Failed to load resource')) problems.push(message.text());
  });
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('request', (request) => requests.push(request.url()));
  await page.goto(url);
  return { page, problems, requests };
}
