import type { FastifyInstance, RouteOptions } from 'fastify';

/** Where every path is routed alike: that tells of none. */
const EVERY_PATH = '*';

/** Which methods each path is routed with, so that a wrong one can be told of. Made before the routes are. */
export class KnownRoutes {
  readonly #methods = new Map<string, string[]>();

  constructor(app: FastifyInstance) {
    app.addHook('onRoute', (route) => this.#add(route));
  }

  /** Empty where nothing is routed. */
  methodsOf(path: string): readonly string[] {
    for (const [pattern, methods] of this.#methods) if (matches(pattern, path)) return [...methods, 'OPTIONS'];
    return [];
  }

  #add({ url, method }: RouteOptions): void {
    if (url !== EVERY_PATH) this.#methods.set(url, [...(this.#methods.get(url) ?? []), ...[method].flat()]);
  }
}

const matches = (pattern: string, path: string): boolean =>
  pattern.endsWith('*') ? path.startsWith(pattern.slice(0, -1)) : path === pattern || path === `${pattern}/`;
