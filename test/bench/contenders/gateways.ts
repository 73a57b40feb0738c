import { join } from 'node:path';
import { GATEWAY_PROGRAM } from '../../fixtures/processes/gateway-command.ts';
import type { Processes } from '../../fixtures/processes/processes.ts';
import { programOfCommit } from '../../fixtures/processes/program-of-commit.ts';
import type { ContenderName } from './contender.ts';
import { type GatewayData, makeGatewayData } from './gateway-data.ts';
import { type Ours, startOurs } from './ours.ts';

const GATEWAYS = ['before', 'before-again', 'ours-again', 'ours'] as const;
export type GatewayName = (typeof GATEWAYS)[number];

export const isGateway = (name: ContenderName): name is GatewayName => GATEWAYS.some((gateway) => gateway === name);

interface GatewaysOptions {
  readonly before: string | null;
  readonly profile: boolean;
}

/** Those contenders that are gateways: this program, and that of a commit. Each process begins with a copy of the same data. */
export class Gateways {
  readonly #processes: Processes;
  readonly #upstreamPort: number;
  readonly #options: GatewaysOptions;
  readonly #data = new Map<string, GatewayData>();
  #programBefore: string | null = null;
  #lastOfOurs: { readonly folder: string; readonly ours: Ours } | null = null;

  constructor(processes: Processes, upstreamPort: number, options: GatewaysOptions) {
    this.#processes = processes;
    this.#upstreamPort = upstreamPort;
    this.#options = options;
  }

  async start(name: GatewayName, { folder, isProbed }: { folder: string; isProbed: boolean }): Promise<Ours> {
    const isOurs = name === 'ours' || name === 'ours-again';
    const main = isOurs ? GATEWAY_PROGRAM : this.#before();
    const profile = isOurs && this.#options.profile;
    const options = { name, main, profile, folder, isProbed, began: this.#dataOf(main) };
    const ours = await startOurs(this.#processes, this.#upstreamPort, options);
    if (name === 'ours') this.#lastOfOurs = { folder, ours };
    return ours;
  }

  /** Where the last process of ours, which ends with this, has left its profile; null where none was started. */
  async profileOfOurs(): Promise<string | null> {
    if (this.#lastOfOurs === null) return null;
    const { folder, ours } = this.#lastOfOurs;
    await this.#processes.stop(folder);
    return ours.profileFolder;
  }

  #before(): string {
    const { before } = this.#options;
    const folder = join(this.#processes.folder, 'program-before');
    this.#programBefore ??= before === null ? null : programOfCommit(before, folder);
    if (this.#programBefore === null) throw new Error(`--before: this clone's history has no ${before}`);
    return this.#programBefore;
  }

  #dataOf(main: string): GatewayData {
    const folder = join(this.#processes.folder, `gateway-data-${this.#data.size}`);
    const data = this.#data.get(main) ?? makeGatewayData(main, folder);
    this.#data.set(main, data);
    return data;
  }
}
