import { parseArgs } from 'node:util';
import { CONTENDERS, type ContenderName, isAgain } from './contenders/contender.ts';
import type { StreamsRange } from './streams/streams-figures.ts';
import { WORKLOADS, type WorkloadName } from './workloads.ts';

/** Measured beside the workloads, without HTTP and without the contenders. */
const SETTLEMENTS = 'settlements';
/** Likewise: settled requests/s with the log sealed and without. */
const SEALING = 'sealing';
/** Likewise: what access log and metrics cost a request. */
const OBSERVED = 'observed';
/** Likewise: how soon proxies act on what is in the log. */
const FLEET = 'fleet';
/** Likewise: what a paying client has of the bodies that others send. */
const HOSTILE = 'hostile';
/** Likewise: the relay beside the driver alone, and views from the topic. */
const FEED = 'feed';
/** Likewise: what a request costs three proxies, to one. */
const FLEET_COST = 'fleet-cost';
/** Likewise, in a folder of their own (weight/): views from nothing, starts, resident memory, the ledger's file. */
const REPLAY = 'replay';
const START = 'start';
/** Likewise: views made anew beside the live ones. */
const REBUILD = 'rebuild';
/** Likewise: a ledger from its file to an event store. */
const COPY = 'copy';
/** Likewise: the audit of a whole ledger. */
const VERIFY = 'verify';
/** Likewise: the export of a whole ledger in each format. */
const EXPORT = 'export';
/** Likewise: what single accounts were at an instant. */
const AT = 'at';
const MEMORY = 'memory';
const DISK = 'disk';
/** Likewise, but with the contenders: the most streams that each of them holds. */
const STREAMS = 'streams';
const APART = [
  SETTLEMENTS,
  SEALING,
  OBSERVED,
  FLEET,
  FLEET_COST,
  HOSTILE,
  FEED,
  REPLAY,
  START,
  REBUILD,
  COPY,
  VERIFY,
  EXPORT,
  AT,
  MEMORY,
  DISK,
  STREAMS,
] as const;
type Apart = (typeof APART)[number];
type Choice = WorkloadName | Apart;
const CHOICES: readonly Choice[] = [...(Object.keys(WORKLOADS) as WorkloadName[]), ...APART];
const isApart = (choice: Choice): choice is Apart => APART.some((apart) => apart === choice);

export interface Options {
  readonly workloads: readonly WorkloadName[];
  /** Whether settled requests/s are measured (settlements/). */
  readonly settlements: boolean;
  /** Whether those are measured with the log sealed and without. */
  readonly sealing: boolean;
  /** Whether the CPU of a request is, with access log and metrics and without (observed/). */
  readonly observed: boolean;
  /** Whether it is measured how soon proxies act on what is in the log (fleet/). */
  readonly fleet: boolean;
  /** Whether it is measured what a request costs a fleet (fleet-cost/). */
  readonly fleetCost: boolean;
  /** Whether a paying client is measured beside hostile bodies (hostile/). */
  readonly hostile: boolean;
  /** Whether the relay and views from a topic are measured (feed/). */
  readonly feed: boolean;
  /** Whether views from nothing are measured, starts, memory, disk (weight/). */
  readonly replay: boolean;
  readonly start: boolean;
  readonly rebuild: boolean;
  readonly copy: boolean;
  readonly verify: boolean;
  readonly export: boolean;
  readonly at: boolean;
  readonly memory: boolean;
  readonly disk: boolean;
  /** Where the most streams are searched for that a contender holds (streams/); null for nowhere. */
  readonly streams: StreamsRange | null;
  /** Events of the ledger of replay, start, rebuild, copy, verify, export and at. */
  readonly events: number;
  /** Accounts that do nothing, by which one is weighed. */
  readonly accounts: number;
  readonly contenders: readonly ContenderName[];
  /** The commit whose program is the contender `before`; null for none. */
  readonly before: string | null;
  readonly rounds: number;
  readonly warmUpMs: number;
  /** Requests that a new process has had before it is measured, where processes are new in each round: its warm-up is made longer for it, up to a bound. */
  readonly warmUpRequests: number;
  /** Load before each window, so that the caches and the connections are those of the contender measured. */
  readonly settleMs: number;
  readonly windowMs: number;
  readonly body: 'small' | 'large';
  readonly profile: boolean;
  /** Where the figures go as JSON; null for nowhere. */
  readonly jsonFile: string | null;
}

/** The others come by themselves. */
const PICKED = CONTENDERS.filter((name) => !isAgain(name));

export const USAGE = `npm run bench -- [options]
  --quick              one short round (some minutes): a smoke test, its figures are rough
  --only LIST          ${CHOICES.join(',')}
  --contenders LIST    ${PICKED.join(',')}
  --before COMMIT      this program as that commit has it, as a contender more; beside ours, each round has new processes of
                       both, two of each
  --rounds N           interleaved rounds (3)
  --events N           of the ledger of replay, start, rebuild, copy, verify, export, at (100000; the goals are for 1000000)
  --accounts N         that do nothing, for memory (60000)
  --large              requests of 20 KB instead of 1 KB
  --profile            run ours with --cpu-prof and print where its time goes
  --json FILE          write the figures as JSON`;

const ROUNDS_MAX = 20;
const EVENTS = { least: 1_000, most: 10_000_000 };
/** Two starts differ by some MB: of fewer accounts a verdict would be on that. */
const ACCOUNTS = { least: 20_000, most: 1_000_000 };
const STREAMS_RANGE = { full: { step: 100, most: 2_000 }, quick: { step: 500, most: 1_500 } };
const FULL = {
  rounds: 3,
  warmUpMs: 8_000,
  warmUpRequests: 50_000,
  settleMs: 700,
  windowMs: 3_000,
  events: 100_000,
  accounts: 60_000,
};
const QUICK = {
  rounds: 1,
  warmUpMs: 2_500,
  warmUpRequests: 0,
  settleMs: 300,
  windowMs: 1_200,
  events: 20_000,
  accounts: 20_000,
};

/** @throws Error for options that are not there. */
export function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string' },
      contenders: { type: 'string' },
      before: { type: 'string' },
      rounds: { type: 'string' },
      events: { type: 'string' },
      accounts: { type: 'string' },
      large: { type: 'boolean', default: false },
      profile: { type: 'boolean', default: false },
      json: { type: 'string' },
    },
  });
  const times = values.quick ? QUICK : FULL;
  const choices = chosen('--only', values.only, CHOICES);
  return {
    ...times,
    rounds: count('--rounds', values.rounds, { usual: times.rounds, least: 1, most: ROUNDS_MAX }),
    events: count('--events', values.events, { usual: times.events, ...EVENTS }),
    accounts: count('--accounts', values.accounts, { usual: times.accounts, ...ACCOUNTS }),
    workloads: choices.filter((choice) => !isApart(choice)),
    settlements: choices.includes(SETTLEMENTS),
    sealing: choices.includes(SEALING),
    observed: choices.includes(OBSERVED),
    fleet: choices.includes(FLEET),
    fleetCost: choices.includes(FLEET_COST),
    hostile: choices.includes(HOSTILE),
    feed: choices.includes(FEED),
    replay: choices.includes(REPLAY),
    start: choices.includes(START),
    rebuild: choices.includes(REBUILD),
    copy: choices.includes(COPY),
    verify: choices.includes(VERIFY),
    export: choices.includes(EXPORT),
    at: choices.includes(AT),
    memory: choices.includes(MEMORY),
    disk: choices.includes(DISK),
    streams: choices.includes(STREAMS) ? STREAMS_RANGE[values.quick ? 'quick' : 'full'] : null,
    contenders: contendersOf(values),
    before: values.before ?? null,
    body: values.large ? 'large' : 'small',
    profile: values.profile,
    jsonFile: values.json ?? null,
  };
}

/** Where what was before is compared with ours, each is there twice. */
function contendersOf(values: { readonly contenders?: string; readonly before?: string }): readonly ContenderName[] {
  const picked = chosen('--contenders', values.contenders, PICKED).filter(
    (name) => name !== 'before' || values.before !== undefined,
  );
  const isCompared = picked.includes('before') && picked.includes('ours');
  return CONTENDERS.filter((name) => (isAgain(name) ? isCompared : picked.includes(name)));
}

function count(
  option: string,
  text: string | undefined,
  { usual, least, most }: { readonly usual: number; readonly least: number; readonly most: number },
): number {
  const value = text === undefined ? usual : Number(text);
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw new Error(`${option}: expected ${least} to ${most}`);
}

/** The named ones in the order of all. */
function chosen<T extends string>(option: string, list: string | undefined, all: readonly T[]): readonly T[] {
  if (list === undefined) return all;
  const names = list.split(',').map((name) => name.trim());
  const unknown = names.filter((name) => !all.some((known) => known === name));
  if (unknown.length > 0) throw new Error(`${option}: there is no ${unknown.join(', ')}`);
  return all.filter((name) => names.includes(name));
}
