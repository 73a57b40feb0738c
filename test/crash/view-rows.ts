import { dumpViews } from '../fixtures/gateway/dump-views.ts';

/**
 * The rows of all views in a gateway's views.db; of one that runs, those that it has written so far. Not how far it has come: its last own events are in the rows
 * before its feed brings them, and a proxy that reads the topic counts otherwise.
 */
export const viewRows = (data: string, options: { readonly remove: boolean }): string[] =>
  dumpViews(data, options).filter((row) => /_v\d+$/.test(String(JSON.parse(row).table)));
