import type { CatalogModel } from '../../contracts/catalog.ts';
import type { Configuration } from '../../contracts/configuration.ts';
import type { BodyThreads } from '../request-body/body-threads.ts';
import { HttpUpstream } from './http-upstream.ts';
import { MockUpstream } from './mock-upstream.ts';
import type { Upstream } from './upstream.ts';

/** A model's place at a provider. */
export interface Deployment {
  readonly upstream: Upstream;
  readonly model: string;
}

/** The providers of the configuration by name, and the mock, which is built in. */
export class UpstreamDirectory {
  readonly #upstreams: ReadonlyMap<string, Upstream>;

  constructor(providers: Configuration['providers'], threads: BodyThreads) {
    const configured = Object.entries(providers).map(([name, provider]) => new HttpUpstream(name, provider));
    this.#upstreams = new Map([new MockUpstream(threads), ...configured].map((upstream) => [upstream.name, upstream]));
  }

  /** Where a model runs, in the order in which to try; providers that this gateway does not know are left out. */
  deploymentsOf(model: CatalogModel): Deployment[] {
    return model.upstreams.flatMap(({ provider, model: name }) => {
      const upstream = this.#upstreams.get(provider);
      return upstream === undefined ? [] : [{ upstream, model: name }];
    });
  }

  get waiting(): number {
    let waiting = 0;
    for (const upstream of this.#upstreams.values()) waiting += upstream.waiting;
    return waiting;
  }

  /** By name. */
  *waitingAt(): Generator<readonly [upstream: string, waiting: number]> {
    for (const { name, waiting } of this.#upstreams.values()) yield [name, waiting];
  }

  async close(): Promise<void> {
    await Promise.all([...this.#upstreams.values()].map((upstream) => upstream.close()));
  }
}
