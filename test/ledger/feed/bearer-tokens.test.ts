import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { BearerTokens, endOf, TokenError } from '../../../ledger/feed/bearer-tokens.ts';
import { FEED_LIMITS } from '../../../ledger/feed/limits.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import { unsignedToken } from '../../kafka/secured-broker.ts';

const folder = temporaryFolder();
const runs = join(folder, 'runs');
const given = join(folder, 'token');

/** Writes down that it was run, and gives what the file holds. */
const GIVES = ['sh', '-c', `echo run >> '${runs}'; cat '${given}'`];
const script = (text: string): BearerTokens => new BearerTokens({ command: ['sh', '-c', text] });
const runsSoFar = (): number => readFileSync(runs, 'utf8').trim().split('\n').filter(Boolean).length;

describe('tokens of a program', () => {
  let nowMs = 1_800_000_000_000;
  const tokens = (): BearerTokens => new BearerTokens({ command: GIVES }, { clock: () => nowMs });

  beforeEach(() => {
    nowMs = 1_800_000_000_000;
    writeFileSync(runs, '');
    writeFileSync(given, unsignedToken(1_000, nowMs));
  });

  it('are used by all who ask until a fifth of their life is left', async () => {
    const mine = tokens();
    const [first, second] = await Promise.all([mine.token(), mine.token()]);
    expect([first, second]).toEqual([unsignedToken(1_000, nowMs), first]);
    nowMs += 799_000;
    expect(await mine.token()).toBe(first);
    expect(runsSoFar()).toBe(1);
    nowMs += 1_000;
    writeFileSync(given, unsignedToken(1_000, nowMs));
    expect(await mine.token()).not.toBe(first);
    expect(runsSoFar()).toBe(2);
  });

  it('are asked for each time where their life is no longer than the driver’s margin', async () => {
    writeFileSync(given, unsignedToken((2 * FEED_LIMITS.reauthenticateMs) / 1_000, nowMs));
    const mine = tokens();
    await mine.token();
    await mine.token();
    expect(runsSoFar()).toBe(2);
  });

  it('are used for a while where they do not say how long they may be', async () => {
    writeFileSync(given, 'opaque-token\n');
    const mine = tokens();
    expect(await mine.token()).toBe('opaque-token');
    await mine.token();
    expect(runsSoFar()).toBe(1);
    nowMs += FEED_LIMITS.opaqueTokenMs;
    await mine.token();
    expect(runsSoFar()).toBe(2);
  });

  it('are asked for again once a broker has refused one', async () => {
    const mine = tokens();
    mine.forget(await mine.token());
    await mine.token();
    expect(runsSoFar()).toBe(2);
  });
});

describe('a program that gives no token', () => {
  const SECRET = unsignedToken(60);
  /** With dots, dots and letters alone, of letters alone, and of words; hexadecimal, and base64 with slashes. */
  const OTHERS = [
    ...['Zm9vYmFyYmF6cXV4MTIz.h7Kq2LmNpQrStUvWxYz0AbCdEf.GhIjKlMnOp4', 'qwertyui.opasdfgh.jklz'],
    ...['qwertyuiopasdfghjklzxcvbnm'.repeat(2), 'the-credential-of-the-production-gateway-'],
    ...['0f1e2d3c4b5a69788796a5b4c3d2e1f0', 'cd/Jk3m9/QwErT/UiOpAsD/GhJkLzX/VbNm12345678=', 'sk-abcdefghijklmnop'],
  ];
  it.each([
    [
      'ends with a code',
      'echo "no  rights" >&2; echo second >&2; exit 3',
      'sh has ended with code 3: no rights second',
    ],
    ['writes the token to stderr, too', `echo ${SECRET}; echo "got ${SECRET}" >&2; exit 1`, 'code 1: got [redacted]'],
    ['writes a token to stderr', `echo "not good: ${SECRET}" >&2; exit 1`, 'code 1: not good: [redacted]'],
    [
      'writes another token to stderr',
      `echo "of /usr/lib/python3.11/site-packages/token.py: ${OTHERS.join(' and ')}" >&2; exit 1`,
      `of /usr/lib/python3.11/site-packages/token.py: ${OTHERS.map(() => '[redacted]').join(' and ')}`,
    ],
    [
      'writes much without a blank to stderr',
      `node -e "process.stderr.write('ey_'.repeat(20_000)); process.exitCode = 1"`,
      'has ended with code 1: [redacted]',
    ],
    ['is killed', 'kill -9 $$', 'was ended by SIGKILL'],
    ['writes nothing', 'true', 'has written to stdout no token'],
    ['writes a sentence', 'echo my secret', 'has written to stdout what is no bearer token: 9 characters'],
    ['writes without end', 'yes', `has written more than ${FEED_LIMITS.tokenBytes} bytes`],
    ['waits for an answer', 'read answer; exit 4', 'has ended with code 4'],
  ])('is told in one line where it %s', async (_what, text, said) => {
    const error = await script(text)
      .token()
      .catch((failure: unknown) => failure);
    expect(error).toBeInstanceOf(TokenError);
    const { message } = error as TokenError;
    expect(message).toMatch(/^kafka\.sasl\.tokenCommand: sh [^\n]*$/);
    expect(message.endsWith(said)).toBe(true);
    expect(message).not.toContain('secret');
    expect(message).not.toContain(SECRET.slice(0, -1));
  });

  it('is told where there is no such program', async () => {
    await expect(new BearerTokens({ command: [join(folder, 'none')] }).token()).rejects.toThrow(
      'kafka.sasl.tokenCommand: none cannot be run: ENOENT',
    );
    // Whose name may be the token.
    for (const program of ['0f1e2d3c4b5a69788796a5b4c3d2e1f0', join(folder, 'Jk3m9+QwErTyUiOp')])
      await expect(new BearerTokens({ command: [program] }).token()).rejects.toThrow(
        'kafka.sasl.tokenCommand: the program cannot be run: ENOENT',
      );
  });

  it('is ended when its time is over, whatever it has started', async () => {
    const mine = new BearerTokens({ command: ['sh', '-c', 'sleep 600; true'] }, { programMs: 50 });
    await expect(mine.token()).rejects.toThrow('kafka.sasl.tokenCommand: sh has not ended within 50 ms');
  });

  it('is ended when nobody waits for it any more', async () => {
    writeFileSync(runs, '');
    const mine = script(`echo $$ > '${runs}'; sleep 600`);
    const token = mine.token().catch((error: unknown) => error);
    await expect.poll(runsSoFar).toBe(1);
    mine.cut();
    expect(await token).toMatchObject({ message: 'kafka.sasl.tokenCommand: sh was given up' });
  });
});

describe('tokens of a file', () => {
  const mine = new BearerTokens({ file: given });

  it('are what it holds whenever one is needed', async () => {
    writeFileSync(given, 'one\n');
    expect(await mine.token()).toBe('one');
    writeFileSync(given, 'two');
    expect(await mine.token()).toBe('two');
  });

  it.each([
    ['', `${given} holds no token`],
    ['two words', `${given} holds what is no bearer token: 9 characters`],
  ])('are none where it holds "%s"', async (text, said) => {
    writeFileSync(given, text);
    await expect(mine.token()).rejects.toThrow(`kafka.sasl.tokenFile: ${said}`);
  });

  it('are none where it is gone', async () => {
    await expect(new BearerTokens({ file: join(folder, 'gone') }).token()).rejects.toThrow(/tokenFile: ENOENT.*gone/);
  });
});

it('is over when a JWT says so, and at no known time otherwise', () => {
  expect(endOf(unsignedToken(60, 1_000_000))).toBe(1_060_000);
  for (const token of ['opaque', 'a.b.c', 'e30.e30.', 'e30.bnVsbA.', 'e30.eyJleHAiOiIxIn0.'])
    expect(endOf(token)).toBe(null);
});
