import type { Logger } from 'pino';
import type { Refusal } from '../../contracts/errors.ts';
import type { Deployment } from '../upstream/upstream-directory.ts';
import { isGatewaysFault, worthTelling } from './upstream-refusal.ts';

export interface FailoverOptions {
  readonly requestId: string;
  /** What is told of a deployment that fails. */
  readonly failedAs: string;
  readonly logger: Logger;
}

/** Which deployment of a model is called: the next in order when one fails, each of them once. */
export class Failover {
  readonly #deployments: readonly Deployment[];
  readonly #options: FailoverOptions;
  #index = 0;
  #worthiest: Refusal | null = null;

  /** @param deployments at least one */
  constructor(deployments: readonly Deployment[], options: FailoverOptions) {
    this.#deployments = deployments;
    this.#options = options;
  }

  get deployment(): Deployment {
    const deployment = this.#deployments[this.#index];
    if (deployment === undefined) throw new Error(`the model has no deployment ${this.#index}`);
    return deployment;
  }

  /** The deployment has failed for this reason: what is worth telling of it and of those before. */
  worthTelling(refused: Refusal): Refusal {
    this.#worthiest = worthTelling(this.#worthiest, refused);
    return this.#worthiest;
  }

  /** The deployment has failed, `failedAs` it says. Whether there is another, which is the one to call from here on. */
  failed(
    cause: { readonly status?: number; readonly [name: string]: unknown },
    failedAs = this.#options.failedAs,
  ): boolean {
    const { requestId, logger } = this.#options;
    const provider = this.deployment.upstream.name;
    const level = cause.status !== undefined && isGatewaysFault(cause.status) ? 'error' : 'warn';
    logger[level]({ requestId, provider, ...cause }, failedAs);
    if (this.#index + 1 >= this.#deployments.length) return false;
    this.#index++;
    return true;
  }
}
