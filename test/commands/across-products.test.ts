import { writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Command } from 'commander';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { accountId, commandOfRequest, keyId, uuidV7 } from '../../contracts/ids.ts';
import { microUsd } from '../../contracts/money.ts';
import { SYSTEM } from '../../contracts/permissions.ts';
import { executeCommand } from '../../ledger/account/execute-command.ts';
import { loadCatalog } from '../../ledger/catalog/catalog-state.ts';
import { EXIT } from '../../proxy/program/command-error.ts';
import { gatewayProgram } from '../../proxy/program/gateway-program.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { usageOf } from '../fixtures/ledger/example-account.ts';
import { requestIdFromUuid } from '../fixtures/ledger/request-of-uuid.ts';
import { type ProgramInProcess, programInProcess } from '../fixtures/processes/program-in-process.ts';
import { UNDO_TABLE } from './undo-table.ts';

const ADA = 'ada@example.com';
const AT = '2026-11-06T12:00:00.000Z';
const CATALOG = new URL('../../contracts/example-catalog.yaml', import.meta.url).pathname;

const requestOf = (number: number) => requestIdFromUuid(uuidV7(Date.parse(AT), Buffer.alloc(10, number)));

const THINGS = ['member', 'key', 'grant', 'revocation', 'attempt', 'payment', 'refund', 'dispute', 'request'] as const;
type Thing = (typeof THINGS)[number];

/** What an account has that a command may name beside it. */
type Things = Readonly<Record<Thing, string>>;

/** By which argument or option, of every command or of that one. */
const NAMES: Readonly<Record<string, Thing>> = {
  ...{ email: 'member', '--member': 'member', key: 'key', '--key': 'key', '--grant': 'grant', request: 'request' },
  ...{ '--revocation': 'revocation', attempt: 'attempt', payment: 'payment' },
  ...{ 'payment withdraw-refund --id': 'refund', 'payment close-dispute --id': 'dispute' },
};

/**
 * By all others nothing is named that there has to be: amounts, times, files and words, among them what who gives the command makes up
 * (`--id`), what a payment is called elsewhere (`--payment`), and who is to be a member.
 */
const NAMES_NOTHING: readonly string[] = [
  ...['account', 'accounts', 'plan', 'role', 'member add email', '--account', '--id', '--payment', '--reason'],
  ...['--usd', '--price-usd', '--cost-usd', '--up', '--down', '--monthly-limit-usd', '--none', '--soft', '--lift-hard'],
  ...['--thresholds', '--threshold-usd', '--target-usd', '--monthly-cap-usd', '--consent', '--off', '--priority'],
  ...[
    '--source',
    '--cause',
    '--outcome',
    '--role',
    '--name',
    '--models',
    '--key-only',
    '--overlap',
    '--again',
    '--brand',
    '--last4',
  ],
  ...[
    '--month',
    '--format',
    '--from',
    '--to',
    '--at',
    '--before',
    '--limit',
    '--expires',
    '--now',
    '--all',
    '--dry-run',
  ],
  ...['--offline', '--out', '--seals', '--anchor', '--keys', '--leaves', '--keep-leaves'],
];

const NOBODYS: Things = {
  ...{ member: 'nobody@example.com', key: 'key_none', grant: 'grant_none', revocation: 'revocation_none' },
  ...{ attempt: 'invoice_none', payment: 'transfer_none', refund: 'refund_none', dispute: 'case_none' },
  request: requestOf(99),
};

interface Owned {
  readonly product: string;
  readonly id: string;
  readonly things: Things;
}

let program: ProgramInProcess;
let pairs: readonly (readonly [own: Owned, other: Owned])[];
let ofAccounts: readonly Named[];

beforeAll(async () => {
  program = endedLater(await programInProcess(), afterAll);
  program.clock = () => Date.parse(AT);
  await program.run('catalog', 'publish', CATALOG);
  const [one, other] = [await owned('gateway', 1), await owned('images', 2)];
  pairs = [
    [one, other],
    [other, one],
  ];
  ofAccounts = commandsIn(await gatewayProgram(program.context)).filter(({ command }) => namesAccount(command));
});

/** An account of somebody who has one of each product, with one of everything. */
async function owned(product: string, number: number): Promise<Owned> {
  const id = `acct_${product}`;
  const because = ['--reason', 'x'];
  const of = (word: string): string => `${word}_of_${product}`;
  const [member, grant, payment, attempt] = [`mate@${product}.example`, of('grant'), of('transfer'), of('invoice')];
  const [revocation, refund, dispute] = [of('revocation'), of('refund'), of('case')];
  await run(product, 'account', 'open', '--kind', 'organization', '--email', ADA, '--id', id, '--trial-usd', '0');
  await run(product, 'member', 'add', id, member);
  const { keyId: key } = JSON.parse(await run(product, '--json', 'key', 'issue', id, '--member', member));
  await run(product, 'credits', 'grant', id, '--usd', '9', '--id', grant);
  await run(product, 'credits', 'revoke', id, '--grant', grant, '--usd', '1', '--id', revocation, ...because);
  await run(product, 'credits', 'purchase', id, '--usd', '20');
  await run(product, 'payment', 'confirm', id, '--payment', payment);
  await run(product, 'payment', 'refund', id, payment, '--usd', '1', '--id', refund, ...because);
  await run(product, 'payment', 'dispute', id, payment, '--usd', '1', '--id', dispute, ...because);
  await run(product, 'credits', 'purchase', id, '--usd', '5', '--id', attempt);
  // Debited, and an exception: it was used beyond its hold.
  const card = (await loadCatalog(program.log)).models.get('opal-medium')?.rateCard;
  if (!card) throw new Error('the catalog has no price');
  const { version, hash } = card;
  const used = { hold: microUsd(20n), keyId: keyId(key), rateCard: { id: card.id, version, hash } };
  const usage = usageOf(number, 70, { ...used, requestId: requestOf(number) });
  const recording = { commandId: commandOfRequest(usage.requestId), actor: 'gateway', recordedAt: usage.finishedAt };
  await executeCommand(program.log, accountId(id), { type: 'RecordUsage', usage, card }, SYSTEM, recording);
  const { requestId: request } = usage;
  return { product, id, things: { member, key, grant, revocation, attempt, payment, refund, dispute, request } };
}

/** By the configuration of a product, as its operators do. */
function run(product: string, ...words: readonly string[]): Promise<string> {
  writeFileSync(program.file, JSON.stringify({ data: dirname(program.file), product }));
  return program.run(...words);
}

interface Named {
  readonly name: string;
  readonly command: Command;
}

const commandsIn = ({ commands }: Pick<Command, 'commands'>, group = ''): Named[] =>
  commands.flatMap((command) => {
    const name = `${group} ${command.name()}`.trim();
    return [{ name, command }, ...commandsIn(command, name)];
  });

const partsOf = ({ registeredArguments, options }: Command): string[] => [
  ...registeredArguments.map((one) => one.name()),
  ...options.map(({ long }) => String(long)),
];

const namesAccount = ({ registeredArguments, options }: Command): boolean =>
  registeredArguments.some((one) => /^accounts?$/.test(one.name())) || options.some(isAccount);

/** `limit set` has a flag of that name. */
const isAccount = ({ long, required }: Command['options'][number]): boolean => long === '--account' && required;

/** Null where that names nothing that there is. */
const thingOf = (name: string, part: string): Thing | null =>
  NAMES_NOTHING.includes(`${name} ${part}`) ? null : (NAMES[`${name} ${part}`] ?? NAMES[part] ?? null);

interface Naming extends Named {
  readonly part: string;
}

/** With what else it has to be given: of the account itself, where that is something of an account. */
function lineOf({ name, command, part }: Naming, own: Owned, given: string): string[] {
  const wordFor = (of: string, choices: readonly string[] = []): string => {
    const thing = thingOf(name, of);
    if (of === part) return given;
    if (of === 'account' || of === '--account') return own.id;
    if (of === '--month') return '2026-11';
    return thing === null ? (choices[0] ?? '1') : own.things[thing];
  };
  const needed = command.registeredArguments.filter((one) => one.required || one.name() === part);
  const options = command.options.filter((one) => one.mandatory || one.long === part || isAccount(one));
  return [
    ...name.split(' '),
    ...needed.map((one) => wordFor(one.name(), one.argChoices)),
    ...options.flatMap(({ long, argChoices }) => [String(long), wordFor(String(long), argChoices)]),
    ...(name === 'limit set' ? ['--usd', '1'] : []),
  ];
}

it('what a command that names an account takes beside it is known, as what names something of an account or as nothing', () => {
  const known = ofAccounts.flatMap(({ name, command }) =>
    partsOf(command).flatMap((part) => [`${name} ${part}`, part]),
  );
  const told = [...Object.keys(NAMES), ...NAMES_NOTHING];
  expect(told.filter((part) => !known.includes(part))).toEqual([]);
  const untold = ofAccounts.flatMap(({ name, command }) =>
    partsOf(command).flatMap((part) =>
      thingOf(name, part) === null && !NAMES_NOTHING.includes(part) && !NAMES_NOTHING.includes(`${name} ${part}`)
        ? [`${name} ${part}`]
        : [],
    ),
  );
  expect(untold).toEqual([]);
});

it('no command reaches from the account of one product to what is of another’s, nor says of it what it says not of nobody’s, also to their owner', async () => {
  const namings = ofAccounts.flatMap(({ name, command }) =>
    partsOf(command).flatMap((part) => {
      const thing = thingOf(name, part);
      return thing === null ? [] : [{ name, command, part, thing }];
    }),
  );
  expect(new Set(namings.map(({ thing }) => thing))).toEqual(new Set(THINGS));
  expect(namings.length).toBeGreaterThan(20);
  const head = await program.log.headPosition();
  for (const naming of namings)
    for (const [own, other] of pairs)
      for (const as of [[], ['--as', ADA]]) {
        const { thing } = naming;
        const answered = (given: string) =>
          run(own.product, ...lineOf(naming, own, given), ...as).then(
            (message) => ({ exitCode: 0, message }),
            ({ exitCode, message }: { exitCode: number; message: string }) => ({ exitCode, message }),
          );
        const line = lineOf(naming, own, other.things[thing]).join(' ');
        const [ofOther, ofNobody] = [await answered(other.things[thing]), await answered(NOBODYS[thing])];
        const isForOperators = /for operators alone|that is for/.test(ofNobody.message);
        expect(ofNobody, line).toEqual({
          exitCode: EXIT.refused,
          message: isForOperators && as.length > 0 ? expect.anything() : expect.stringContaining(NOBODYS[thing]),
        });
        expect(ofOther, line).toEqual({
          exitCode: EXIT.refused,
          message: ofNobody.message.replaceAll(NOBODYS[thing], other.things[thing]),
        });
      }
  expect(await program.log.headPosition()).toBe(head);
});

it('what is shown of an account, and what lists all of a product, has nothing of another product’s', async () => {
  const writing = UNDO_TABLE.map(({ command }) => command);
  const reading = ofAccounts.filter(({ name }) => !writing.includes(name) && !name.startsWith('projections '));
  expect(reading.length).toBeGreaterThan(10);
  for (const [own, other] of pairs) {
    const ofOther = new RegExp([other.id, ...Object.values(other.things)].join('|'));
    const lines = reading.map(({ name, command }) => {
      const part = partsOf(command).find((one) => /^accounts?$/.test(one)) ?? '';
      return lineOf({ name, command, part }, own, own.id);
    });
    for (const line of [...lines, ['account', 'list'], ['payment', 'list']]) {
      const shown = await run(own.product, ...line);
      expect(shown, line.join(' ')).not.toMatch(ofOther);
      if (line[1] === 'list') expect(shown, line.join(' ')).toMatch(/acct_|mate@|key_|req_/);
    }
  }
});
