// Calls to the server that the page came from, with a key where one was given. The browser's
// thread; the only file that fetches.
import { JSON_TYPE, TEXT_TYPE } from '../../../base/media-types.js';

const KEY = 'serval-key';

/** The result of a call. */
export interface Reply {
  readonly status: number;
  readonly contentType: string;
  readonly text: string;
  readonly millis: number;
}

/** A call that was refused, in the server's words. */
export class CallError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** Kept for as long as the tab is open, and sent to this server only. "" = none. */
export const key = {
  get: (): string => sessionStorage.getItem(KEY) ?? '',
  set: (value: string): void => {
    if (value === '') sessionStorage.removeItem(KEY);
    else sessionStorage.setItem(KEY, value);
  },
};

/** Any answer; rejects where there is none. */
export async function call(method: string, path: string, body?: string): Promise<Reply> {
  const headers: Record<string, string> = {};
  if (key.get() !== '') headers['Authorization'] = `Bearer ${key.get()}`;
  if (body !== undefined) headers['Content-Type'] = JSON_TYPE;
  const begun = performance.now();
  const response = await fetch(path, {
    method,
    headers,
    cache: 'no-store',
    credentials: 'same-origin',
    redirect: 'error',
    ...(body !== undefined && { body }),
  });
  const text = await response.text();
  const contentType = response.headers.get('content-type') ?? '';
  return { status: response.status, contentType, text, millis: performance.now() - begun };
}

/** Returns the message of an error response's body. */
export function errorText({ status, text }: Reply): string {
  try {
    const { error } = JSON.parse(text) as { error?: unknown };
    if (typeof error === 'string') return error;
  } catch {
    // No JSON: as it is.
  }
  return text === '' ? `status ${status}` : text.slice(0, 1000);
}

async function answered(method: string, path: string, body?: string): Promise<Reply> {
  const reply = await call(method, path, body);
  if (reply.status >= 200 && reply.status < 300) return reply;
  throw new CallError(reply.status, errorText(reply));
}

/** Rejects with CallError. */
export async function getJson<T>(path: string): Promise<T> {
  return JSON.parse((await answered('GET', path)).text) as T;
}

export async function getText(path: string): Promise<string> {
  return (await answered('GET', path)).text;
}

/** An answer without a body is undefined. */
export async function post(path: string): Promise<unknown> {
  const { text } = await answered('POST', path, '{}');
  return text === '' ? undefined : (JSON.parse(text) as unknown);
}

/** A name as a part of a path. */
export const part = encodeURIComponent;

/** A click on a link to a document of the server, which a browser asks for without the key: where
 * there is one, the page asks and shows what came. */
export function openWithKey(event: Event): void {
  const link = (event.target as Element).closest('a');
  if (link === null || key.get() === '') return;
  event.preventDefault();
  const shown = window.open('', '_blank');
  void call('GET', link.pathname + link.search).then(({ text, contentType }) => {
    const type = contentType.startsWith(JSON_TYPE) ? contentType : TEXT_TYPE;
    const url = URL.createObjectURL(new Blob([text], { type }));
    if (shown !== null) shown.location.href = url;
  });
}
