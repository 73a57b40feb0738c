import { describe, expect, it } from 'vitest';
import { encodeEvents } from '../../contracts/event-codec.ts';
import { type AccountId, accountId, accountStream, commandId, LEDGER_STREAM } from '../../contracts/ids.ts';
import { runGatewayProgram } from '../../proxy/program/run-gateway-program.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { ACCOUNT, requestOf } from '../fixtures/ledger/example-account.ts';
import { exampleOf } from '../fixtures/ledger/example-events.ts';
import { lifeOfExceptions, publishCards } from '../fixtures/ledger/life-of-exceptions.ts';
import { MemoryEventLog } from '../fixtures/ledger/memory-event-log.ts';
import { programInProcess } from '../fixtures/processes/program-in-process.ts';
import { proposedLife } from '../ledger/statement/stored-life.ts';

describe('a stream that is not as it should be', () => {
  /** How the command ends on a log in which some of the life's stored events are others. */
  async function ended(
    spoil: (event: { type: string; data: string }) => { type: string; data: string } | null,
    {
      id = requestOf(1),
      spoilCatalog,
      accounts = [ACCOUNT],
    }: { id?: string; spoilCatalog?: (data: string) => string | null; accounts?: readonly AccountId[] } = {},
  ) {
    const log = new MemoryEventLog();
    const catalog = spoilCatalog === undefined ? (data: string): string => data : spoilCatalog;
    if (catalog('') !== null) await publishCards(log, (data) => catalog(data) ?? '');
    const life = proposedLife(lifeOfExceptions()).flatMap((event) => {
      const spoilt = spoil(event);
      return spoilt === null ? [] : [{ ...event, ...spoilt }];
    });
    for (const [index, account] of accounts.entries())
      log.write(
        accountStream(account),
        life.map((event) => ({ ...event, data: event.data.replaceAll('req_0', `req_${index}`) })),
      );
    const program = endedLater(await programInProcess(log));
    const said = { stdout: '', stderr: '' };
    const context = {
      ...program.context,
      write: (text: string) => {
        said.stdout += text;
      },
      warn: (text: string) => {
        said.stderr += text;
      },
    };
    const exitCode = await runGatewayProgram(context, ['--config', program.file, 'ledger', 'explain', id]);
    return { exitCode, ...said, log, program };
  }

  it('that lacks an event is told as such, in red, and ends with 5: it may have been the request’s', async () => {
    const { log, program } = await ended((event) => event);
    const readStream = log.readStream.bind(log);
    log.readStream = async function* (stream, options) {
      for await (const event of readStream(stream, options))
        if (event.stream !== accountStream(ACCOUNT) || event.revision !== 2) yield event;
    };
    let [said, warned] = ['', ''];
    const context = {
      ...program.context,
      writePainted: (text: string) => {
        said += text;
      },
      warn: (text: string) => {
        warned += text;
      },
    };
    const words = ['--config', program.file, 'ledger', 'explain'];
    const gap = 'revision 2 should follow, and 3 does: events are missing, or stand twice';
    expect(await runGatewayProgram(context, [...words, requestOf(1)])).toBe(5);
    expect(warned).toBe(`gateway: ${requestOf(1)}: not as it should be: ${gap}\n`);
    expect(said).toContain(`\u001b[31mnot as it should be: ${gap}\u001b[39m`);
  });

  it('has the request explained, and what cannot be read in it told', async () => {
    const { stdout, stderr } = await ended((event) =>
      event.type === 'ApiKeyIssued' ? { ...event, data: '{}' } : event,
    );
    expect(stderr).toMatch(/^warning: acme: account-acme revision 2 \(ApiKeyIssued\): keyId: required/);
    const more = await ended((event) =>
      /Lease|Approved|Dropped|Late|Crossed/.test(event.type) ? { ...event, data: '[]' } : event,
    );
    expect(more.stderr).toMatch(
      /^(?:warning: acme: account-acme revision .*\n){3}warning: acme: \d more events cannot be read: gateway ledger replay acme\n$/,
    );
    expect(stdout).toMatch(/^asked by +key key_a$/m);
    expect(stdout).toMatch(/^debited +0\.000002000000$/m);
  });

  it('has no balance told behind what cannot be read, where nothing else says it', async () => {
    const { stdout } = await ended((event) => (event.type === 'ExceptionDropped' ? { ...event, data: '{}' } : event), {
      id: requestOf(3),
    });
    expect(stdout).toMatch(/^balance: not known, for events before it cannot be read$/m);
  });

  it('has each request named that a provider’s id is of, and none explained', async () => {
    const known = (event: { type: string; data: string }) => ({
      ...event,
      data: event.data.replace('"requestId":null', '"requestId":"msg_1"'),
    });
    const { exitCode, stdout, stderr } = await ended(known, { id: 'msg_1' });
    expect([exitCode, stdout]).toEqual([3, '']);
    expect(stderr).toMatch(/^gateway: msg_1 is the provider's id of several requests; explain one of them:\n/);
    expect(stderr.match(/^ {2}req_\w+ --account acme$/gm)).toHaveLength(5);
    const accounts = ['a', 'b', 'c', 'd', 'e'].map(accountId);
    const many = await ended(known, { id: 'msg_1', accounts });
    expect(many.stderr.match(/^ {2}req_\w+ --account [a-e]$/gm)).toHaveLength(20);
    expect(many.stderr).toMatch(/\n {2}and 5 more\n$/);
  });

  it.each<[string, (data: string) => string | null, RegExp]>([
    ['is nowhere', () => null, /: not as it should be: the catalog has no such rate card\n$/],
    [
      'stands in an event that cannot be read',
      () => '{}',
      /has no such rate card; catalog revision 0 \(CatalogPublished\): /,
    ],
    [
      'is not what its hash says',
      (data) => data.replace('"output":"1000000"', '"output":"900000"'),
      /has no such rate card; the one of catalog version 3 does not match its hash\n$/,
    ],
  ])('ends with 5 where its rate card %s, after it was explained', async (_what, spoilCatalog, said) => {
    const { exitCode, stdout, stderr } = await ended((event) => event, { spoilCatalog });
    expect([exitCode, stderr]).toEqual([5, expect.stringMatching(said)]);
    expect(stdout).toMatch(/^debited +0\.000002000000$/m);
  });

  it.each<[string, Parameters<typeof ended>[0], RegExp]>([
    [
      'its rate is not the card’s',
      (event) => ({ ...event, data: event.data.replace('"rate":"1000000"', '"rate":"900000"') }),
      /output is billed at 0\.900000 USD a million; the rate card has 1\.000000 USD a million$/m,
    ],
    [
      'other tokens are billed than were used',
      (event) => ({ ...event, data: event.data.replace('"output":7', '"output":8') }),
      /: 7 output tokens are billed; its usage has 8; the cost is another than its usage and its rate card make$/m,
    ],
    [
      'it has no debit',
      (event) => (event.type === 'CreditsDebited' ? { ...event, type: 'UsageSpoilt' } : event),
      /; it is to be charged, and has no debit$/m,
    ],
    [
      'its balance does not follow',
      (event) => ({ ...event, data: event.data.replace('"balanceAfter":"58"', '"balanceAfter":"59"') }),
      /revision 5: It says 0\.000059 USD as the balance after it; by the events before it is 0\.000058/,
    ],
    [
      'its debit cannot be read',
      (event) => ({ ...event, data: event.data.replace('"cost":"7000000"', '"costs":"7000000"') }),
      /account-acme revision 5 \(CreditsDebited\): .*; it is to be charged, and has no debit/,
    ],
    [
      'it is debited twice',
      (event) =>
        event.type === 'ExceptionApproved' ? { ...event, type: 'CreditsDebited', data: debitOfOne() } : event,
      /revision 6 is its second CreditsDebited; the first is revision 5/,
    ],
  ])('ends with 5 where %s', async (_what, spoil, said) => {
    const { exitCode, stderr } = await ended(spoil);
    expect(exitCode).toBe(5);
    expect(stderr).toMatch(said);
  });

  it('has no request explained whose usage cannot be read', async () => {
    const unread = await ended((event) => (event.type === 'UsageRecorded' ? { ...event, type: 'UsageSpoilt' } : event));
    expect([unread.exitCode, unread.stderr]).toEqual([3, expect.stringMatching(/: the ledger has no such request; /)]);
    const broken = await ended((event) =>
      event.type === 'UsageRecorded' ? { ...event, data: event.data.replace('"lane":', '"lain":') } : event,
    );
    expect([broken.exitCode, broken.stderr]).toEqual([
      3,
      expect.stringMatching(/: acme has no usage of it that can be read: account-acme revision 4 \(UsageRecorded\): /),
    ]);
  });

  it('that was given up with a loss is told with its cause', async () => {
    const { log, program } = await ended((event) => event);
    const loss = exampleOf('LossAccepted');
    const requests = [{ requestId: requestOf(99), accountId: ACCOUNT, cause: 'the ledger has no such account' }];
    const recording = {
      commandId: commandId('019a5b3c-2222-7000-8000-00000000000b'),
      actor: 'operator',
      recordedAt: '2026-11-05T09:00:00.000Z',
    };
    log.write(LEDGER_STREAM, encodeEvents([{ ...loss, data: { ...loss.data, requests } }], recording));
    await expect(program.run('ledger', 'explain', requestOf(99))).rejects.toThrow(
      /: the ledger has no such request; it was given up when the loss of generation 2 was accepted: the ledger has no such account$/,
    );
  });

  it('costs the account’s own events and the catalog where the account is said', async () => {
    const { log, program } = await ended((event) => event);
    const others = log.readAll;
    log.readAll = () => {
      throw new Error('the log is looked through');
    };
    await program.run('ledger', 'explain', requestOf(1), '--account', ACCOUNT);
    await program.run('ledger', 'replay', ACCOUNT);
    await program.run('ledger', 'replay', ACCOUNT, '--at', '3');
    await expect(program.run('ledger', 'explain', requestOf(1))).rejects.toThrow('the log is looked through');
    log.readAll = others;
  });

  it('is told where the log hides it', async () => {
    const { log, program } = await ended((event) => event);
    log.hidden.add(accountStream(ACCOUNT));
    await expect(program.run('ledger', 'explain', requestOf(1), '--account', ACCOUNT)).rejects.toThrow('is hidden');
  });
});

const debitOfOne = (): string =>
  proposedLife(lifeOfExceptions()).find(({ type }) => type === 'CreditsDebited')?.data ?? '';
