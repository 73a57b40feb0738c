import type { Logger } from 'pino';
import { OutageNews } from '../outage-news.ts';

/** Says that the log is away: once when it goes, once for each further reason, and once when it is back. */
export class LogOutage {
  readonly #logger: Logger;
  readonly #news = new OutageNews();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  isAway({ message: reason }: Error, what: string): void {
    this.#logger[this.#news.isNews(reason) ? 'warn' : 'debug']({ reason }, what);
  }

  isThere(): void {
    if (this.#news.over()) this.#logger.info('the event log answers again');
  }
}
