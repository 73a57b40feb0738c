import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { openConnections } from './open-connections.ts';

interface WithAnswer {
  /** The answer whose turn it is on the connection. Node shows it to nobody, though it closes idle connections by it. */
  readonly _httpMessage?: ServerResponse | null;
}

/**
 * Answers that are ended, and that their clients have not taken yet, of what a known caller alone has: anybody else would hold each stop for
 * as long as it waits. To Node their connections are idle from the end on, whatever of
 * an answer waits: a server that is closed would destroy them, and cut what was sent, and billed, as complete.
 */
export class UntakenAnswers {
  readonly #connections: Iterable<Socket>;

  constructor(server: Server) {
    this.#connections = openConnections(server);
    const closeIdleConnections = server.closeIdleConnections.bind(server);
    // Also that of a server that is closed.
    server.closeIdleConnections = () => {
      const answers = this.#answers();
      for (const answer of answers) answer.finished = false;
      closeIdleConnections();
      for (const answer of answers) answer.finished = true;
    };
  }

  get count(): number {
    return this.#answers().length;
  }

  /** Resolves when none is left: each was taken, or its client has left. */
  async whenTaken(): Promise<void> {
    for (let answers = this.#answers(); answers.length > 0; answers = this.#answers())
      await Promise.all(answers.map((answer) => new Promise((resolve) => answer.once('close', resolve))));
  }

  #answers(): ServerResponse[] {
    return [...this.#connections].flatMap((connection) => {
      const answer = (connection as WithAnswer)._httpMessage ?? null;
      return answer !== null && isUntaken(answer) ? [answer] : [];
    });
  }
}

const isUntaken = ({ req, statusCode, writableEnded, writableFinished, destroyed }: ServerResponse): boolean =>
  writableEnded && !writableFinished && !destroyed && req.method === 'POST' && statusCode === 200;
