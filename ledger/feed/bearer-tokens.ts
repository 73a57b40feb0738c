import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import type { TokenSource } from '../../contracts/kafka-configuration.ts';
import { onOneLine } from '../../contracts/printable.ts';
import { isPlainName, withoutSecrets } from '../../contracts/secret-like.ts';
import { FEED_LIMITS } from './limits.ts';

/** There is no token, and why; the token itself, or what may be one, is not in it. */
export class TokenError extends Error {
  override readonly name = 'TokenError';
}

/** Tokens for SASL OAUTHBEARER, each used until a part of its life is left, by however many connections. */
export class BearerTokens {
  readonly #source: TokenSource;
  readonly #clock: () => number;
  readonly #programMs: number;
  #cached: CachedToken | null = null;
  #asking: Promise<string> | null = null;
  #stop = new AbortController();

  /** @param options.programMs for a program to give one */
  constructor(source: TokenSource, { clock = Date.now, programMs = FEED_LIMITS.tokenMs as number } = {}) {
    this.#source = source;
    this.#clock = clock;
    this.#programMs = programMs;
  }

  /** @throws TokenError */
  async token(): Promise<string> {
    // Whoever keeps the file new has done so without telling.
    if ('file' in this.#source) return await readToken(this.#source.file);
    if (this.#cached !== null && isFresh(this.#cached, this.#clock())) return this.#cached.token;
    this.#asking ??= this.#ask(this.#source.command).finally(() => {
      this.#asking = null;
    });
    return await this.#asking;
  }

  /** A broker has refused it: the next is another one. */
  forget(token: string): void {
    if (this.#cached?.token === token) this.#cached = null;
  }

  /** Ends a program that runs. */
  cut(): void {
    this.#stop.abort();
    this.#stop = new AbortController();
  }

  async #ask(command: readonly string[]): Promise<string> {
    const token = await tokenOf(command, { signal: this.#stop.signal, timeout: this.#programMs });
    const nowMs = this.#clock();
    this.#cached = { token, sinceMs: nowMs, untilMs: endOf(token) ?? nowMs + FEED_LIMITS.opaqueTokenMs };
    return token;
  }
}

interface CachedToken {
  readonly token: string;
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** The driver authenticates anew when a session is over but for FEED_LIMITS.reauthenticateMs: by then there is another. */
const isFresh = ({ sinceMs, untilMs }: CachedToken, nowMs: number): boolean =>
  untilMs - nowMs > Math.max((untilMs - sinceMs) / FEED_LIMITS.tokenRestPart, 2 * FEED_LIMITS.reauthenticateMs);

/** When a JWT is over, in ms; null where a token does not say, or is none. */
export function endOf(token: string): number | null {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'));
    if (typeof claims !== 'object' || claims === null || !('exp' in claims)) return null;
    return typeof claims.exp === 'number' ? claims.exp * 1_000 : null;
  } catch {
    return null;
  }
}

/** RFC 6750, 2.1; and the dots of a JWT that is not signed. */
const TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;

function tokenIn(text: string, where: string): string {
  const token = text.trim();
  if (token === '') throw new TokenError(`${where} no token`);
  // What else it may be is not told: it may be most of a secret.
  if (!TOKEN.test(token)) throw new TokenError(`${where} what is no bearer token: ${token.length} characters`);
  return token;
}

async function readToken(file: string): Promise<string> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    throw new TokenError(`kafka.sasl.tokenFile: ${error instanceof Error ? error.message : String(error)}`);
  }
  return tokenIn(text, `kafka.sasl.tokenFile: ${file} holds`);
}

function tokenOf(
  [program = '', ...rest]: readonly string[],
  bounds: { readonly signal: AbortSignal; readonly timeout: number },
): Promise<string> {
  // A name that nothing has may be the token.
  const called = (isThere: boolean): string =>
    `kafka.sasl.tokenCommand: ${isThere || isPlainName(basename(program)) ? basename(program) : 'the program'}`;
  const options = {
    ...bounds,
    killSignal: 'SIGKILL',
    maxBuffer: FEED_LIMITS.tokenBytes,
    encoding: 'utf8',
  } as const;
  return new Promise((resolve, reject) => {
    const child = execFile(program, rest, options, (error, stdout, stderr) => {
      try {
        if (error !== null)
          throw new TokenError(
            `${called(child.pid !== undefined)} ${howCommandEnded(error, bounds.timeout)}${said(stderr, stdout)}`,
          );
        resolve(tokenIn(stdout, `${called(true)} has written to stdout`));
      } catch (failure) {
        reject(failure);
      }
    });
    // One that asks for something is not to wait for an answer.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end();
  });
}

function howCommandEnded(
  error: Error & { code?: unknown; killed?: boolean; signal?: unknown },
  timeoutMs: number,
): string {
  if (error.name === 'AbortError') return 'was given up';
  if (error.code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER')
    return `has written more than ${FEED_LIMITS.tokenBytes} bytes`;
  if (error.killed === true) return `has not ended within ${timeoutMs} ms`;
  if (typeof error.code === 'number') return `has ended with code ${error.code}`;
  if (typeof error.signal === 'string') return `was ended by ${error.signal}`;
  return `cannot be run: ${String(error.code ?? error.message)}`;
}

const WORDS_MAX = 300;

/** What a program has written to stderr, on one line and without what may be a token. */
function said(stderr: string, stdout: string): string {
  const token = stdout.trim();
  const words = withoutSecrets(token.length < 8 ? stderr : stderr.replaceAll(token, '[redacted]'));
  const line = onOneLine(words.trim().replace(/\s+/g, ' ').slice(0, WORDS_MAX));
  return line === '' ? '' : `: ${line}`;
}
